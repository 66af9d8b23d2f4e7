"""The crash lab as a fixture, and the table of what it showed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).with_name("lab")
ADK = Path(__file__).with_name("adk")
# A kill is not a power cut: what a process wrote is there, in memory as on a disk, and memory is faster.
MEMORY = Path("/dev/shm")  # noqa: S108 - only looked for; each run makes a folder of its own
COLUMNS = ("points", "kills", "doubts", "turns_again", "duplicates")

rows: dict[str, dict[str, Any]] = {}


class Lab:
    """A lab's process: one job or race at a time."""

    def __init__(self, place: Path) -> None:
        # Most of its children are killed and leave no coverage behind; measuring them would only slow them down.
        env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, place], stdin=pipe, stdout=pipe, text=True, env=env
        )

    def run(self, **job: Any) -> dict[str, Any]:
        """The report; what went wrong keeps its folder, unless it was to go wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        folder = tempfile.mkdtemp(prefix="crash-", dir=MEMORY if MEMORY.is_dir() else None)
        self._process.stdin.write(json.dumps({"folder": f"{folder}/runs", **job}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the lab ended with {self._process.wait()}; see {folder}"
        report: dict[str, Any] = json.loads(line)
        if not report.get("bad") or not job["cell"].get("protected", True):
            shutil.rmtree(folder)
        return report

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    made = Lab(LAB)
    yield made
    made.close()


@pytest.fixture(scope="session")
def adk_lab() -> Iterator[Lab]:
    made = Lab(ADK)
    yield made
    made.close()


@pytest.fixture
def tabled() -> dict[str, dict[str, Any]]:
    """The table's rows: a test leaves its report under its name."""
    return rows


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not rows or "CRASH_FULL" not in os.environ:
        return
    terminalreporter.section("kills")
    terminalreporter.write_line(f"{'':42}" + "".join(f"{column:>12}" for column in COLUMNS))
    for name, report in rows.items():
        terminalreporter.write_line(f"{name:42}" + "".join(f"{report[c]:>12}" for c in COLUMNS))
    total = [sum(report[column] for report in rows.values()) for column in COLUMNS]
    terminalreporter.write_line(f"{'all':42}" + "".join(f"{number:>12}" for number in total))
