"""Runs Google ADK's own tests, of the installed release, with and without durable tools, and compares them test by test.

The tests come from that release's tag, or from a checkout given as the one argument. What ends differently is listed, and
fails, unless it is meant to or does so with a plugin that does nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import passes
from adk_outcomes import PASSES, Pass, differing, holes, report

URL = "https://github.com/google/adk-python"
FETCH_S = 300
ROOT = "tests/unittests"
NAMES = (
    "flows/llm_flows",
    "runners",
    "workflow",
    "plugins/test_plugin_manager.py",
    "plugins/test_reflect_retry_tool_plugin.py",
    "tools/test_agent_tool.py",
    "tools/test_function_tool.py",
)


def fetch(into: Path) -> Path:
    """A checkout of the installed release's tests.

    Raises:
        SystemExit: it cannot be had.
    """
    tag = f"v{version('google-adk')}"
    clone = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", f"--branch={tag}"]
    little = ["--depth=1", "--filter=blob:none", "--sparse", URL, str(into)]
    narrow = ["git", "-C", str(into), "sparse-checkout", "set", ROOT]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        for command in ([*clone, *little], narrow):
            subprocess.run(command, env=environment, check=True, timeout=FETCH_S)
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"{URL} could not be fetched at {tag}; with a checkout: {passes.BY_HAND}\n{error}")
    return into


def run(checkout: Path, tests: Sequence[str], scratch: Path) -> dict[str, Pass]:
    """Every pass over these tests, by name.

    Raises:
        SystemExit: one did not come to its end.
    """
    found = {}
    for name, asked in PASSES.items():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        noted = scratch / f"{name}.json"
        noted.unlink(missing_ok=True)
        options = [*asked, f"--outcomes={noted}", "--continue-on-collection-errors"]
        code = passes.run(checkout, tests, "adk_plugin", *options, "--tb=no", "-rN")
        if code not in (0, 1) or not noted.is_file():
            sys.exit(f"the pass {name!r} did not end by itself: exit code {code}")
        told = json.loads(noted.read_text(encoding="utf-8"))
        found[name] = Pass(told["outcomes"], sum(told["recorded"].values()))
    return found


def main(folder: str | None = None) -> int:
    """1 when there is something to report, 0 otherwise."""
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        checkout = Path(folder).resolve() if folder else fetch(room / "checkout")
        found = run(checkout, [f"{ROOT}/{name}" for name in NAMES], room)
        other = list(differing(found))
        # Some of ADK's tests count milliseconds: what differs has to do so a second time.
        again = run(checkout, other, room) if other else {}
    lines = report({name: each.overtaken_by(again.get(name)) for name, each in found.items()})
    sys.stderr.writelines(f"{line}\n" for line in [*holes(found), *lines])
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
