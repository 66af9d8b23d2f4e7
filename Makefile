# A fresh machine needs Python 3.11+, make and a package index: `make demo` and `make test` do the rest.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
PYTEST ?= $(BIN)/python -m pytest
.PHONY: setup test check crash demo demo-adk bench upstream-adk upstream-langgraph clean

test: setup
	$(PYTEST)

setup: .venv/ready
.venv/ready: pyproject.toml $(wildcard integrations/*/pyproject.toml) constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.3'
	$(PIP) -c constraints.txt --build-constraint constraints.txt --group dev $(addprefix -e ./,. $(dir $(wildcard integrations/*/pyproject.toml)))
	touch $@

check: setup
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/typos
	$(BIN)/coverage erase
	$(MAKE) test PYTEST="$(BIN)/coverage run -m pytest"
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report

crash: setup # CRASH_FULL=n lets each killed run go on in n ways (1 takes about an hour, 12 are all)
	CRASH_FULL=$${CRASH_FULL:-1} $(PYTEST) tests/crash

demo: setup
	$(BIN)/python examples/recovery/demo.py

demo-adk: setup
	$(BIN)/python examples/recovery/demo.py adk

bench: setup
	@for script in $(wildcard benchmarks/*.py); do $(BIN)/python $$script || exit 1; done

upstream-adk: setup # UPSTREAM_TESTS=<checkout of google/adk-python> uses its tests instead of fetching them
	$(BIN)/python tests/upstream/run_adk.py $(UPSTREAM_TESTS)

upstream-langgraph: setup # UPSTREAM_TESTS=<folder holding LangGraph's test_tool_node.py> uses those instead of fetching them
	$(BIN)/python tests/upstream/run.py $(UPSTREAM_TESTS)

clean:
	rm -rf .venv .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
