"""Runs LangGraph's own ToolNode tests, of the installed release, on durable tools.

The tests come out of that release's source distribution, or from a folder given as the one argument. They are run once
as they are, so that a failure of theirs is not taken for ours, and then on every way in.
"""

import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

import passes

PACKAGE = "langgraph-prebuilt"
FILES = (
    "test_tool_node.py",
    "test_on_tool_call.py",
    "test_tool_node_interceptor_unregistered.py",
    "test_tool_node_validation_error_filtering.py",
    "test_injected_state_not_required.py",
)


def fetch(into: Path) -> Path:
    """The folder with the tests of the installed release.

    Raises:
        SystemExit: the package index cannot be reached, or the distribution holds no tests.
    """
    wanted = f"{PACKAGE}=={version(PACKAGE)}"
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    sdist = [*download, "--no-deps", "--no-binary", PACKAGE, "--dest", str(into), wanted]
    if subprocess.run(sdist, check=False).returncode != 0:
        sys.exit(f"{wanted} could not be fetched; with its tests in a folder: {passes.BY_HAND}")
    (archive,) = into.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(into, filter="data")
    return next(into.glob("*/tests"), into)


def main(folder: str | None = None) -> int:
    """How many passes failed."""
    with tempfile.TemporaryDirectory() as scratch:
        tests = Path(folder).resolve() if folder else fetch(Path(scratch))
        failed = 0
        for mode in ("stock", "wrapped", "durable", "middleware"):
            print(f"--tool-node={mode}", flush=True)
            options = [f"--tool-node={mode}", "--noconftest"]
            failed += passes.run(tests, FILES, "durable_plugin", *options) != 0
        return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
