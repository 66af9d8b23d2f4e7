"""What the three distributions promise to whoever installs them: metadata, types, licence; and the commands of the house."""

import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = {
    "agent-adapter": ROOT,
    "agent-adapter-adk": ROOT / "integrations/adk",
    "agent-adapter-langgraph": ROOT / "integrations/langgraph",
}
distributions = pytest.mark.parametrize("name", PROJECTS)


def project(name: str) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((PROJECTS[name] / "pyproject.toml").read_text())["project"]
    return read


@distributions
def test_it_says_its_name_licence_python_and_page(name: str) -> None:
    said = project(name)
    wanted = {
        "name": name,
        "license": "Apache-2.0",
        "readme": "README.md",
        "requires-python": ">=3.11",
    }
    assert {key: said.get(key) for key in wanted} == wanted
    assert (PROJECTS[name] / said["readme"]).read_text().startswith(f"# {name}\n")


@distributions
def test_the_installed_metadata_agree(name: str) -> None:
    found = metadata(name)
    assert (found["License-Expression"], found["Version"]) == (
        "Apache-2.0",
        project(name)["version"],
    )


@distributions
def test_its_types_are_for_others_too(name: str) -> None:
    package = PROJECTS[name] / "src" / name.replace("-", "_")
    assert (package / "py.typed").read_bytes() == b""


def test_the_core_needs_pydantic_alone_and_a_bridge_the_core_of_its_own_version() -> None:
    assert project("agent-adapter")["dependencies"] == ["pydantic>=2.7"]
    for name in ("agent-adapter-adk", "agent-adapter-langgraph"):
        assert "agent-adapter>=0.1,<0.2" in project(name)["dependencies"]


@pytest.mark.parametrize("name", ["agent-adapter-adk", "agent-adapter-langgraph"])
def test_a_bridge_carries_the_licence_text(name: str) -> None:
    assert (PROJECTS[name] / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_ci_runs_the_gate_and_the_demo() -> None:
    script = ROOT / ".ci/run"
    lines = script.read_text().splitlines()
    assert script.stat().st_mode & 0o111
    assert lines[0] == "#!/usr/bin/env bash"
    assert [line for line in lines if line.startswith("make ")] == [
        "make check",
        "make demo",
        "make demo-adk",
    ]
    assert "set -euo pipefail" in lines


def test_the_gate_holds_every_check() -> None:
    _, _, rest = (ROOT / "Makefile").read_text().partition("\ncheck:")
    recipe = rest.partition("\n\n")[0]
    gate = (
        "ruff format --check .",
        "ruff check .",
        "mypy",
        "lint-imports",
        "typos",
        "coverage report",
    )
    assert [step for step in gate if step not in recipe] == []
