"""The red control: the same harness, on LangGraph alone, sees what it is there to see."""

from typing import Any

import pytest

MODES = [["none", "id", "honest"], ["idle", "bare", "honest"]]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("saver", ["SqliteSaver", "AsyncSqliteSaver"])
@pytest.mark.parametrize("scenario", ["tool_node", "agent"])
def test_without_the_bridge_a_killed_run_does_things_twice(
    lab: Any, scenario: str, saver: str
) -> None:
    cell = {"scenario": scenario, "saver": saver, "protected": False}
    report = lab.run(cell=cell, modes=MODES, stride=5)
    assert report["unharmed"]["bad"] == []
    assert report["kills"] == report["chains"]
    assert report["duplicates"] > 0
    assert len(report["bad"]) >= report["duplicates"]


def test_without_the_bridge_a_pause_beside_other_calls_repeats_them_without_any_kill(
    lab: Any,
) -> None:
    cell = {"scenario": "asking_one", "protected": False}
    unharmed = lab.run(cell=cell, modes=MODES[:1], kills=[])["unharmed"]
    assert unharmed["effects"]["a3"] > 1


def test_without_the_bridge_an_old_answer_answers_a_question_that_nobody_was_asked(
    lab: Any,
) -> None:
    cell = {"scenario": "asking", "protected": False}
    report = lab.run(cell=cell, modes=[["idle", "bare", "honest"]], kills=["paused after round 1"])
    why = [reason for bad in report["bad"] for reason in bad["why"]]
    assert any("was answered with" in reason for reason in why)
