"""SIGKILL in the middle of a store's writes: the file holds the step before or the step after, whole."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("store_victims.py")

OLD = {"step": 0, "head": "old", "history": ["a", "b"], "logs": [[], ["old", "old"], []]}
NEW = {"step": 1, "head": "new", "history": ["c"], "logs": [[], [], []]}


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory in memory where there is one: a kill cuts no power, and 50 victims write a lot."""
    memory = Path("/dev/shm")  # noqa: S108 - a directory of its own is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


def victims(*arguments: object) -> Any:
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(60)
def test_a_writer_killed_at_random_leaves_one_of_two_neighbouring_steps(directory: Path) -> None:
    """item 68"""
    for answered, integrity, run in victims("random", directory, 50):
        assert integrity == "ok"
        step = run["step"]
        assert step in {answered - 1, answered}
        if step >= 0:
            assert (run["head"], run["history"]) == (f"{step}", [f"{n}" for n in range(step + 1)])
            # The step's own record may have been in the next commit.
            assert run["logs"] in (
                [[], [], []],
                [[], [f"{step}"], []],
                [[f"{step}"], [f"{step}"], []],
            )


def test_a_new_segment_and_the_old_log_are_never_seen_together(directory: Path) -> None:
    """item 46"""
    *killed, (status, survived) = victims("statement", directory)
    assert len(killed) >= 6
    assert [run for _, run in killed] == [OLD] * len(killed)
    assert (status, survived) == (0, NEW)
