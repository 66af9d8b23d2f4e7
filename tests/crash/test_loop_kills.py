"""Every point of a durable loop, killed: no effect twice, nothing lost, and the history of a run that nobody harmed.

The short form kills at a sample of the points of every scenario. `CRASH_FULL=n` kills at every point, and lets each run go
on in n of the modes.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).parent / "lab" / "loop_lab.py"
# A kill is not a power cut: what a process wrote is there, in memory as on a disk, and memory is faster.
MEMORY = Path("/dev/shm")  # noqa: S108 - only looked for; each run makes a folder of its own
FULL = int(os.environ.get("CRASH_FULL") or 0)
MODES = ["once", "thrice", "idle", "stop", "early", "refuse", "twice"]
# Every how many points the short form kills: more where there are many.
SCENARIOS = {
    "plain": 2,
    "in_turn": 3,
    "idempotent": 2,
    "restless": 2,
    "reconciled": 3,
    "approved": 5,
    "agents": 4,
    "opaque": 5,
    "handed": 3,
}


def lab(**job: Any) -> dict[str, Any]:
    """The report of a job in a folder of its own."""
    # Most of its children are killed and leave no coverage behind; measuring them would only slow them down.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        asked = json.dumps({"folder": f"{folder}/runs", **job})
        done = subprocess.run(
            [sys.executable, LAB, asked], check=True, stdout=subprocess.PIPE, env=env
        )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def held(report: dict[str, Any]) -> dict[str, Any]:
    """The report, once every promise was kept in every chain."""
    assert report["unharmed"] == []
    assert report["bad"] == []
    assert report["duplicates"] == 0
    assert report["kills"] >= report["chains"] > 0
    return report


def nth(report: dict[str, Any], point: str, n: int) -> int:
    """The number of a point that is passed for the n-th time."""
    return [at for at, name in enumerate(report["listed"], 1) if name == point][n - 1]


@pytest.mark.timeout(3600 if FULL else 180)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_killed_loop_ends_as_if_nobody_had_killed_it(
    scenario: str, tabled: dict[str, Any]
) -> None:
    """Items 104, 105 and 110."""
    row = list(SCENARIOS).index(scenario)
    sampled = {} if FULL else {"stride": SCENARIOS[scenario], "first": 1 + row % 2}
    modes = MODES[row % len(MODES) :] + MODES[: row % len(MODES)]
    tabled[f"loop-{scenario}"] = held(
        lab(scenario=scenario, modes=modes, depth=max(FULL, 1), **sampled)
    )


@pytest.mark.parametrize("point", ["body before effect d", "body after effect d"])
def test_a_call_in_doubt_is_asked_about_and_asking_changes_nothing(point: str) -> None:
    """Item 86: two workers in turn are told the same, and nothing is written."""
    report = held(lab(scenario="plain", kills=[point], modes=["idle"]))
    assert report["doubts"] == 1


def test_a_finished_call_replays_when_its_turn_was_not_saved() -> None:
    """Item 88."""
    report = held(lab(scenario="in_turn", kills=["after claim pay done"], modes=["once", "idle"]))
    assert (report["doubts"], report["turns_again"]) == (0, 0)


@pytest.mark.parametrize("point", ["model before outer 1", "model after outer 1"])
def test_a_model_that_was_cut_off_is_asked_again_and_no_tool_runs(point: str) -> None:
    """Item 89."""
    report = held(lab(scenario="plain", kills=[point], modes=["once"]))
    assert (report["doubts"], report["turns_again"]) == (0, int("after" in point))


@pytest.mark.parametrize("point", ["body before effect c", "body after effect c"])
def test_of_a_turn_that_was_cut_off_only_the_call_that_had_begun_is_in_doubt(point: str) -> None:
    """Item 90: those before it replay, the one after it runs."""
    report = held(lab(scenario="in_turn", kills=[point], modes=["once"]))
    assert report["doubts"] == 1


def test_of_two_equal_calls_only_the_one_that_was_cut_off_is_in_doubt() -> None:
    """Item 91: equal calls are two wishes."""
    listed = lab(scenario="in_turn", kills=[], modes=["once"])
    between = nth(listed, "after claim pay done", 1)
    second = [nth(listed, f"body {side} effect b", 2) for side in ("before", "after")]
    report = held(lab(scenario="in_turn", kills=[between, *second], modes=["once"]))
    assert report["doubts"] == len(second)


def test_a_parked_call_waits_for_as_long_as_nobody_decides() -> None:
    """Item 113: no worker writes anything, and none that looks for unfinished runs finds this one."""
    report = held(lab(scenario="approved", kills=["paused"], modes=["idle", "early"], depth=2))
    assert (report["doubts"], report["turns_again"]) == (0, 0)


@pytest.mark.timeout(180)
def test_a_decision_is_never_lost_and_never_used_twice(tabled: dict[str, Any]) -> None:
    """Item 115: every point from the first decision to the last record of its turn."""
    listed = lab(scenario="approved", kills=[], modes=["once"])
    decided = nth(listed, "before decide", 1)
    recorded = nth(listed, "after claim mail done", 3)
    kills = list(range(decided, recorded + 1, 1 if FULL else 2))
    modes = ["once", "twice", "early", "thrice"]
    tabled["loop-decided"] = held(
        lab(scenario="approved", kills=kills, modes=modes, depth=max(FULL, 1))
    )


@pytest.mark.parametrize("scenario", ["plain", "in_turn", "handed"])
def test_without_checkpoints_a_killed_loop_does_things_twice(scenario: str) -> None:
    """The red control: the same harness sees what it is there to see."""
    report = lab(scenario=scenario, modes=["bare"], stride=4)
    assert report["unharmed"] == []
    assert report["kills"] > 0
    assert report["duplicates"] > 0
    assert len(report["bad"]) >= report["duplicates"]
