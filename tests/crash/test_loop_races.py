"""A durable loop that several workers take up at once, or that a worker comes back to: one of them has it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).parent / "lab" / "loop_lab.py"
MEMORY = Path("/dev/shm")  # noqa: S108 - only looked for; each run makes a folder of its own
FULL = bool(os.environ.get("CRASH_FULL"))
ROUNDS = 5 if FULL else 1
ENDINGS = {"done", "CheckpointConflict", "RecoveryNeedsDecision"}

# Where a worker freezes, what a person says about its call, where whoever takes over is killed, which effects of the frozen
# worker come late, and whether it left a call to ask about.
TAKEN = "after save running"
FREEZES = [
    ("body before effect a", "happened", None, ["a"], True),
    ("body after effect a", "honest", None, [], True),
    ("after claim pay started", "happened", None, ["c"], True),
    ("body after effect d", "honest", None, [], True),
    ("after claim charge done", "honest", None, [], False),
    ("before claim pay started", "honest", None, [], False),
    ("model before outer 1", "honest", None, [], False),
    ("before save done", "honest", None, [], False),
    # The run was taken over, and not moved on: nothing but the position says so.
    ("body before effect a", "happened", TAKEN, ["a"], True),
    ("body after effect a", "honest", TAKEN, [], True),
    ("before claim pay started", "honest", TAKEN, [], False),
    ("model before outer 1", "honest", TAKEN, [], False),
]


def lab(**job: Any) -> Any:
    """The report of a job in a folder of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        asked = json.dumps({"folder": f"{folder}/runs", **job})
        done = subprocess.run(
            [sys.executable, LAB, asked], check=True, stdout=subprocess.PIPE, env=env
        )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def frozen() -> list[Any]:
    """What became of each worker that froze, and of one over whose head a person said "run it again"."""
    freezes = [[point, mood, *([at] if at else [])] for point, mood, at, *_ in FREEZES]
    freezes.append(["body before effect a", "rerun"])
    found: list[Any] = lab(kind="freeze", scenario="in_turn", freezes=freezes)
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize(
    ("scenario", "killed_at", "told"),
    [
        ("in_turn", "model before outer 1", False),
        ("in_turn", "after claim pay done", False),
        ("in_turn", "body before effect c", True),
        ("plain", "body after effect d", True),
        ("idempotent", "body before effect c", False),
        ("reconciled", "body after effect c", False),
        ("agents", "after save paused", False),
    ],
)
def test_of_four_workers_that_recover_at_once_exactly_one_completes(
    scenario: str, killed_at: str, told: bool, round_: int
) -> None:
    """Item 97: and whatever was finished or begun ran once."""
    del round_
    race = {"scenario": scenario, "killed_at": killed_at, "told": told, "racers": 4}
    report = lab(kind="race", **race)
    assert (report["killed"], report["codes"]) == (-9, [0] * 5)
    assert report["raced"].keys() <= ENDINGS
    assert (report["raced"].get("done"), sum(report["raced"].values())) == (1, 4)
    assert report["bad"] == []


def test_four_workers_that_nobody_told_about_a_call_in_doubt_all_ask() -> None:
    """Item 97: and none of them cuts another off by asking."""
    report = lab(kind="race", scenario="plain", killed_at="body before effect d", racers=4)
    assert report["raced"] == {"RecoveryNeedsDecision": 4}
    assert report["bad"] == []


@pytest.mark.timeout(120)
def test_a_frozen_worker_starts_nothing_once_its_run_was_taken_over(frozen: list[Any]) -> None:
    """Items 98 and 111: it wakes in a call, or between calls; the record is what the other worker made it."""
    for report, (_, _, killed_at, late, asked) in zip(frozen[:-1], FREEZES, strict=True):
        assert report["stopped"], report
        assert report["codes"] == [-9 if killed_at else 0, 0, 0], report
        assert report["ended"] == ["CheckpointConflict"], report
        assert report["late"] == late, report
        assert report["twice"] == [], report
        assert report["wishes"], report
        assert set(report["histories"]) == {True}, report
        # Whoever decides is told that the worker may live.
        assert report["known_dead"] == ([False] if asked else []), report


@pytest.mark.timeout(120)
def test_run_again_over_a_worker_that_lives_is_the_one_way_to_a_second_effect(
    frozen: list[Any],
) -> None:
    """Item 98: the question said so; the late result is dropped, and nothing more is started."""
    report = frozen[-1]
    assert report["known_dead"] == [False]
    assert report["ended"] == ["CheckpointConflict"]
    assert (report["late"], len(report["twice"])) == (["a"], 1)
    assert report["histories"] == [True, True]


def test_whoever_takes_over_waits_for_a_call_that_a_live_worker_has_begun() -> None:
    """Item 97: the first ends its call and no more, the second answers that from the record and completes."""
    race = {"scenario": "in_turn", "killed_at": "before claim pay started"}
    report = lab(kind="relay", in_body="body before effect c", **race)
    assert report["frozen"] == [True] * 4
    assert (report["codes"], report["ended"]) == ([0, 0], ["CheckpointConflict", "done"])
    assert report["effects"] == {"a": 1, "b": 2, "c": 1, "d": 1}
