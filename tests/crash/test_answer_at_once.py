"""One pause, answered by two processes or by twenty threads at the same moment: nothing happens twice."""

import os
from typing import Any

import pytest

SAVERS = ["SqliteSaver", "AsyncSqliteSaver"]
FULL = bool(os.environ.get("CRASH_FULL"))
# A later turn may ask anew; who was second at one of two questions is told so, and the run goes on without them.
ENDINGS = {"result", "question", "ApprovalConflict", "CheckpointConflict"}


def pairs(*scenarios: str) -> list[tuple[str, str]]:
    """Each scenario with one of the savers in turn; with both in the full form."""
    turns = [(scenario, n % 2) for n, scenario in enumerate(scenarios)]
    return [(scenario, SAVERS[k]) for scenario, n in turns for k in ((0, 1) if FULL else (n,))]


def run(lab: Any, scenario: str, saver: str, **race: Any) -> dict[str, Any]:
    """The race's report, once what must hold of every race was checked."""
    report: dict[str, Any] = lab.run(cell={"scenario": scenario, "saver": saver}, **race)
    assert set(report["codes"]) == {0}
    assert report["questions"] > 0
    assert {order: count for order, count in report["effects"].items() if count > 1} == {}
    assert report["raced"].keys() <= ENDINGS
    assert sum(report["raced"].values()) == len(race["moods"]) * race.get("threads", 1)
    assert all(report["told"])
    ordered = [order for order, _ in report["results"]]
    assert len(set(ordered)) == len(ordered) >= len(report["effects"]) > 0
    return report


@pytest.mark.parametrize(
    ("scenario", "saver"),
    pairs("asking", "asking_one", "asking_agent", "reviewed", "subgraph", "wrapped"),
)
def test_two_processes_that_answer_one_pause_do_everything_once(
    lab: Any, scenario: str, saver: str
) -> None:
    report = run(lab, scenario, saver, moods=["honest", "honest"])
    assert sorted(report["effects"]) == sorted(order for order, _ in report["results"])


@pytest.mark.parametrize(("scenario", "saver"), pairs("tool_node", "agent", "own_node", "send"))
@pytest.mark.parametrize("second", ["honest", "respond"])
def test_two_processes_that_decide_one_call_in_doubt_run_it_at_most_once(
    lab: Any, scenario: str, saver: str, second: str
) -> None:
    point = "body before effect a1"
    report = run(lab, scenario, saver, killed_at=point, moods=["honest", second])
    assert len(report["results"]) == 4


@pytest.mark.parametrize(("scenario", "saver"), pairs("tool_node", "agent"))
def test_twenty_threads_that_decide_one_call_in_doubt_run_it_once(
    lab: Any, scenario: str, saver: str
) -> None:
    point = "body before effect a1"
    report = run(lab, scenario, saver, killed_at=point, moods=["honest"], threads=20)
    assert sorted(report["effects"]) == ["a1", "b1", "c1", "d1"]


@pytest.mark.parametrize("scenario", ["asking_one", "asking_agent"])
def test_twenty_threads_that_answer_one_pause_do_everything_once(lab: Any, scenario: str) -> None:
    report = run(lab, scenario, "SqliteSaver", moods=["honest"], threads=20)
    assert sorted(report["effects"]) == ["a3", "b3", "c3"]
