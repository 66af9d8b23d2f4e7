"""Calls that may have taken effect: asked about, decided, probed; nothing runs before somebody knows."""

import threading

import pytest
from pydantic import BaseModel
from tests.exec.loop_kit import RUN, Lab, Outage, Tape, ask, said

from agent_adapter import CheckpointConflict, ModelError, RecoveryNeedsDecision, ToolUsageError
from agent_adapter.exec import DidNotHappen, DoNotRun, Happened, Rerun


class Money(BaseModel):
    cents: int


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def crashed(lab, *more):
    """A run whose charge took effect, and nobody knows."""
    lab.play([ask("charge", cents=5), *more], "done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    lab.tape.writes.clear()


async def question(lab, **given):
    """The only question that the recovery asks."""
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(**given)
    [call] = raised.value.calls
    assert raised.value.run_id == RUN
    return call


async def test_the_question_names_the_call_and_asking_again_writes_nothing(lab):
    """Item 86: tool, arguments, idempotency key, and whether the worker is known to be dead."""
    await crashed(lab)
    before = await lab.snapshot()
    call = await question(lab)
    assert (call.tool, call.arguments) == ("charge", {"cents": 5})
    assert (call.idempotency_key, call.owner_known_dead) == (lab.keys[0], True)
    assert call.key == (await lab.records())[0].key
    assert await question(lab) == call
    assert await lab.snapshot() == before
    assert (lab.tape.writes, lab.ran, lab.asked) == ([], [("charge", 5)], 1)


async def test_an_idempotent_call_runs_again_by_itself(lab):
    """Item 87"""
    lab.change("charge", idempotent=True)
    lab.play([ask("charge", cents=5)], "done")
    lab.break_at(3)
    with pytest.raises(Outage):
        await lab.run()
    result = await lab.recover()
    assert (lab.ran, lab.keys[0]) == ([("charge", 5)] * 2, lab.keys[1])
    assert said(result)[2] == ("tool", "charged 5")


async def test_rerun_in_doubt_runs_every_doubtful_call_again(lab):
    """Item 87"""
    await crashed(lab)
    result = await lab.recover(rerun_in_doubt=True)
    assert (lab.ran, lab.keys[0]) == ([("charge", 5)] * 2, lab.keys[1])
    assert [found.value for found in result.tool_results] == ["charged 5"]


async def test_rerun_runs_the_call_again_with_its_own_key(lab):
    await crashed(lab)
    call = await question(lab)
    await lab.recover(decisions={call.question_id: Rerun()})
    assert (lab.ran, lab.keys[0]) == ([("charge", 5)] * 2, lab.keys[1])


async def test_happened_is_the_calls_result_and_nothing_runs(lab):
    await crashed(lab)
    call = await question(lab)
    result = await lab.recover(decisions={call.question_id: Happened("charged by hand")})
    assert said(result)[2] == ("tool", "charged by hand")
    assert (result.tool_results, lab.ran) == ((), [("charge", 5)])


async def test_do_not_run_is_told_to_the_model_with_its_reason(lab):
    await crashed(lab)
    call = await question(lab)
    result = await lab.recover(decisions={call.question_id: DoNotRun("refunded already")})
    told = result.messages[2]
    assert (told.status, "refunded already" in told.text) == ("denied", True)
    assert lab.ran == [("charge", 5)]


async def test_a_decision_counts_for_the_exact_attempt_that_it_names(lab):
    """A second crash of the same call is a new question, and the old answer says nothing of it."""
    await crashed(lab)
    call = await question(lab)
    dying = Tape(lab.store)
    dying.breaks_at = 3
    with pytest.raises(Outage):
        await lab.recover(checkpoints=dying, decisions={call.question_id: Rerun()})
    assert dying.writes == ["save running", "claim started", "claim done"]
    again = await question(lab, decisions={call.question_id: Rerun()})
    assert again.question_id != call.question_id
    assert again.idempotency_key == call.idempotency_key
    assert lab.ran == [("charge", 5)] * 2


async def test_an_answer_to_one_of_two_questions_runs_nothing(lab):
    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    lab.break_at(5)
    with pytest.raises(Outage):
        await lab.run()
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover()
    first, second = raised.value.calls
    lab.tape.writes.clear()
    left = await question(lab, decisions={first.question_id: Rerun()})
    assert (left, lab.tape.writes, len(lab.ran)) == (second, [], 2)


async def test_an_answer_that_is_not_asked_for_is_left_alone(lab):
    await crashed(lab)
    call = await question(lab, decisions={"0" * 32: Rerun()})
    given = {call.question_id: Happened("ok"), "0" * 32: Rerun()}
    assert said(await lab.recover(decisions=given))[2] == ("tool", "ok")


@pytest.mark.parametrize(
    "wrong",
    [{1: Rerun()}, {"q": "rerun"}, {"q": True}, {"q": Rerun}, {"q": None}, {"q": DidNotHappen()}],
    ids=str,
)
async def test_what_is_no_decision_is_refused(lab, wrong):
    await crashed(lab)
    with pytest.raises(ToolUsageError):
        await lab.recover(decisions=wrong)
    assert lab.tape.writes == []


@pytest.mark.parametrize("reason", [5, object()], ids=["number", "object"])
async def test_a_reason_that_is_no_text_is_refused(lab, reason):
    await crashed(lab)
    call = await question(lab)
    with pytest.raises(ToolUsageError):
        await lab.recover(decisions={call.question_id: DoNotRun(reason)})
    assert lab.tape.writes == []


@pytest.mark.parametrize("wrong", [[1], "approve", 5], ids=str)
async def test_decisions_that_are_no_mapping_are_refused(lab, wrong):
    await crashed(lab)
    with pytest.raises(ToolUsageError):
        await lab.recover(decisions=wrong)


@pytest.mark.parametrize("value", [object(), Money(cents=5)], ids=["no stored form", "other class"])
async def test_a_value_that_cannot_be_the_calls_result_is_refused_before_anything_is_written(
    lab, value
):
    await crashed(lab)
    call = await question(lab)
    with pytest.raises(ToolUsageError):
        await lab.recover(decisions={call.question_id: Happened(value)})
    assert lab.tape.writes == []
    assert await question(lab) == call


@pytest.mark.parametrize("by", ["person", "probe"])
async def test_a_value_that_cannot_be_the_calls_result_does_not_end_the_run(lab, by):
    """The run stays in doubt about the call and can be recovered with another word."""
    wrong = Happened(Money(cents=5))
    if by == "probe":
        lab.change("charge", reconcile=lambda arguments, key: wrong)
    await crashed(lab)
    said_so = {(await question(lab)).question_id: wrong} if by == "person" else {}
    with pytest.raises((ToolUsageError, RecoveryNeedsDecision)):
        await lab.recover(decisions=said_so)
    call = await question(lab)
    assert (await lab.recover(decisions={call.question_id: Happened("ok")})).status == "done"


# What has no stored form


def give_lock(cents):
    return threading.Lock()


async def test_a_result_that_cannot_be_stored_is_in_doubt_after_a_crash(lab):
    """Item 107"""
    lab.inside["charge"] = give_lock
    lab.play([ask("charge", cents=5)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    assert [record.state for record in await lab.records()] == ["unrecordable"]
    lab.play(lab.script[0], "done")
    call = await question(lab)
    assert lab.ran == [("charge", 5)]
    result = await lab.recover(decisions={call.question_id: Happened("charged 5")})
    assert said(result)[2] == ("tool", "charged 5")


async def test_an_idempotent_call_without_a_storable_result_runs_again(lab):
    """Item 107"""
    lab.change("charge", idempotent=True)
    lab.inside["charge"] = give_lock
    lab.play([ask("charge", cents=5)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(lab.script[0], "done")
    assert (await lab.recover()).status == "done"
    assert lab.ran == [("charge", 5)] * 2


async def test_a_run_without_doubt_is_not_asked_about_twice(lab):
    await crashed(lab)
    await lab.recover(rerun_in_doubt=True)
    with pytest.raises(CheckpointConflict, match="ended"):
        await lab.recover(rerun_in_doubt=True)
    assert lab.ran == [("charge", 5)] * 2
