"""What must hold of the repository as a whole: names, sizes, versions, dependencies, and the READMEs' examples."""

import ast
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

import agent_adapter
import agent_adapter_adk
import agent_adapter_langgraph

ROOT = Path(__file__).parents[1]
SOURCES = [ROOT / "src", *ROOT.glob("integrations/*/src")]
PROJECTS = [ROOT / "pyproject.toml", *ROOT.glob("integrations/*/pyproject.toml")]

# What every bridge calls by the same name.
OF_EACH_BRIDGE = {"DurableTools", "__version__"}
# These re-export by specification; every other module is the home of what it exports.
FACADES = {"agent_adapter"} | {
    f"agent_adapter.{m}" for m in ("exec", "exec.control", "exec.integration")
}

ONLY_PYDANTIC = """
import importlib, pkgutil, sys

ALLOWED = {*sys.stdlib_module_names, "agent_adapter", "annotated_types", "pydantic", "pydantic_core",
           "typing_extensions", "typing_inspection"}

class OnlyPydantic:
    def find_spec(self, name, path=None, target=None):
        # The standard library's table of build settings is named after the platform.
        if name.partition(".")[0] not in ALLOWED and not name.startswith("_sysconfigdata_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyPydantic())
import agent_adapter
for module in pkgutil.walk_packages(agent_adapter.__path__, "agent_adapter."):
    importlib.import_module(module.name)
del sys.meta_path[0]
"""


def public_modules() -> list[ModuleType]:
    packages = (agent_adapter, agent_adapter_adk, agent_adapter_langgraph)
    below = [m.name for p in packages for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
    public = [name for name in below if not any(part[0] == "_" for part in name.split("."))]
    return [*packages, *map(importlib.import_module, public)]


def exports(module: ModuleType) -> list[str]:
    """`__all__`, or for a module of definitions the public names that it defines."""
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", 0) == module.__name__]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def repository_files() -> list[Path]:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


def imported_from(module: str, files: list[Path]) -> set[str]:
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    statements = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in statements if node.module == module for alias in node.names}


def test_every_public_name_resolves_means_one_thing_and_has_one_home() -> None:
    """Items 1 to 3: façades re-export the very same objects."""
    meanings, homes = defaultdict(set), defaultdict(list)
    for module in public_modules():
        for name in exports(module):
            meanings[name].add(id(getattr(module, name)))
            if module.__name__ not in FACADES and module.__name__.startswith("agent_adapter."):
                homes[name].append(module.__name__)
    several = {name for name, objects in meanings.items() if len(objects) > 1}
    assert several - OF_EACH_BRIDGE == set()
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_source_file_is_longer_than_400_lines() -> None:
    lengths = {f: len(f.read_text().splitlines()) for s in SOURCES for f in s.rglob("*.py")}
    assert {str(file): length for file, length in lengths.items() if length > 400} == {}


def test_the_three_distributions_have_one_version() -> None:
    versions = {tomllib.loads(file.read_text())["project"]["version"] for file in PROJECTS}
    assert len(PROJECTS) == 3
    assert versions == {agent_adapter_adk.__version__}


def test_the_core_imports_with_only_pydantic_installed() -> None:
    """Item 4: every module of the core, public and private."""
    command = [sys.executable, "-W", "error", "-c", ONLY_PYDANTIC]
    child = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (child.returncode, child.stderr) == (0, "")


def test_every_name_of_the_seam_is_used_by_a_bridge_or_a_test() -> None:
    seam = importlib.import_module("agent_adapter.exec.integration")
    users = [*ROOT.glob("integrations/*/src/**/*.py"), *ROOT.glob("integrations/*/tests/**/*.py")]
    users += [file for file in ROOT.glob("tests/**/*.py") if "typing" not in file.parts]
    assert set(seam.__all__) - imported_from(seam.__name__, users) == set()


def test_no_file_names_a_machine_path_or_a_package_index() -> None:
    forbidden = re.compile(r"/(?:work|root|farm|tmp)/[a-z]|https?://\S*/(?:simple|packages)/")
    texts = {str(file): file.read_bytes().decode(errors="replace") for file in repository_files()}
    assert {file: hits for file, text in texts.items() if (hits := forbidden.findall(text))} == {}


def test_constraints_are_names_and_versions_alone() -> None:
    pin = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+")
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not pin.fullmatch(line)] == []


CALL = {"id": "call-1", "name": "charge", "args": {"customer": "Ada", "cents": 500}}
WORDS = "Ada paid five euros."


class OfLangChain(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> "OfLangChain":
        return self


class OfAdk(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        shown = [part for content in llm_request.contents for part in content.parts or []]
        called = any(part.function_response for part in shown)
        call = types.Part(function_call=types.FunctionCall(**CALL))
        said = types.Part(text=WORDS) if called else call
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


def of_langchain() -> OfLangChain:
    return OfLangChain(messages=iter([AIMessage("", tool_calls=[CALL]), AIMessage(WORDS)]))


# By README: the model of its examples, and what they print.
EXAMPLES: dict[str, tuple[Callable[[], Any], str]] = {
    "README.md": (of_langchain, f"{WORDS}\n"),
    "integrations/adk/README.md": (lambda: OfAdk(model="scripted"), f"{WORDS}\n"),
    "integrations/langgraph/README.md": (of_langchain, ""),
}


@pytest.mark.parametrize("readme", EXAMPLES)
def test_the_readme_examples_run(
    readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    model, printed = EXAMPLES[readme]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)
    assert blocks
    Path("example.py").write_text("\n".join(blocks))
    runpy.run_path("example.py", {"model": model()})
    assert capfd.readouterr().out == printed
