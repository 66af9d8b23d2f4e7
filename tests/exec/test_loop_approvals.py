"""Calls of a loop that wait for a person: parked together, decided one by one, used once, never lost."""

import contextlib
from dataclasses import replace

import pytest
from tests.exec.loop_kit import NO, RUN, YES, Lab, Outage, Tape, ask, said

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    Executor,
    NotSealable,
    RecoveryNeedsDecision,
    StoreApprovals,
    ToolUsageError,
)
from agent_adapter.approvals import StoredApproval
from agent_adapter.exec import Happened


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


def mails(*names):
    return [ask("mail", to=name) for name in names]


async def test_a_call_that_needs_a_person_pauses_the_run(lab):
    """Item 113: nothing ran, the record is pending, and the run is not among the unfinished ones."""
    lab.play(mails("ann"), "done")
    result = await lab.run()
    [request] = result.pending
    assert (request.tool, request.arguments, request.run_id) == ("mail", {"to": "ann"}, RUN)
    assert (result.status, result.run_id, result.steps) == ("paused", RUN, 1)
    assert (result.tool_results, lab.ran) == ((), [])
    assert await lab.approvals.list_pending() == [request]
    assert [record.state for record in await lab.records()] == ["pending"]
    assert (await lab.status(), await lab.store.list_unfinished()) == ("paused", [])
    assert lab.tape.writes == ["save running", "save running", "claim pending", "save paused"]


async def test_a_recovery_before_the_decision_is_paused_again_and_writes_nothing(lab):
    """Item 114: twice, with the same request, and without the model."""
    lab.play(mails("ann"), "done")
    first = await lab.run()
    before = await lab.snapshot()
    lab.tape.writes.clear()
    for _ in range(2):
        again = await lab.recover()
        assert (again.status, again.pending, again.messages) == (
            "paused",
            first.pending,
            first.messages,
        )
        assert (again.steps, again.reply, again.run_id) == (1, first.reply, RUN)
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])
    assert (lab.asked, len(await lab.approvals.list_pending())) == (1, 1)


async def test_an_approved_call_runs_once_and_the_run_goes_on(lab):
    """Item 113"""
    lab.play(mails("ann"), "done")
    [request] = (await lab.run()).pending
    await lab.decide()
    result = await lab.recover()
    assert lab.ran == [("mail", "ann")]
    assert said(result)[2:] == [("tool", "mailed ann"), ("assistant", "done")]
    assert [found.value for found in result.tool_results] == ["mailed ann"]
    assert (await lab.approvals.get(request.id)).consumer is not None
    assert (await lab.status(), lab.asked) == ("done", 2)


async def test_a_denied_call_never_runs_and_the_model_sees_the_reason(lab):
    """Item 118"""
    lab.play(mails("ann"), "a pity")
    [request] = (await lab.run()).pending
    await lab.decide(NO)
    result = await lab.recover()
    told = result.messages[2]
    assert (told.status, "too dear" in told.text, lab.ran) == ("denied", True, [])
    assert (await lab.approvals.get(request.id)).decision == NO
    assert result.status == "done"


async def test_three_calls_of_a_turn_wait_at_once_and_exactly_the_approved_run(lab):
    """Item 39"""
    lab.play(mails("ann", "bob", "eve"), "done")
    result = await lab.run()
    assert [request.arguments["to"] for request in result.pending] == ["ann", "bob", "eve"]
    for request, decision in zip(result.pending, (YES, NO, YES), strict=True):
        await lab.approvals.decide(request.id, decision)
    result = await lab.recover()
    assert sorted(lab.ran) == [("mail", "ann"), ("mail", "eve")]
    assert [message.status for message in result.messages[2:5]] == ["ok", "denied", "ok"]


async def test_equal_calls_wait_for_a_decision_each(lab):
    """Items 39 and 116"""
    lab.play([ask("mail", "a", to="ann"), ask("mail", "b", to="ann")], "done")
    first, second = (await lab.run()).pending
    assert (first.id != second.id, first.digest) == (True, second.digest)
    await lab.approvals.decide(second.id, NO)
    await lab.approvals.decide(first.id, YES)
    result = await lab.recover()
    assert lab.ran == [("mail", "ann")]
    assert [message.status for message in result.messages[2:4]] == ["ok", "denied"]


async def test_while_one_is_undecided_the_run_waits_and_keeps_the_other_decisions(lab):
    lab.play(mails("ann", "bob"), "done")
    first, second = (await lab.run()).pending
    await lab.approvals.decide(first.id, YES)
    assert (await lab.recover()).pending == (second,)
    assert lab.ran == []
    await lab.approvals.decide(second.id, YES)
    await lab.recover()
    assert sorted(lab.ran) == [("mail", "ann"), ("mail", "bob")]


async def test_the_other_calls_of_a_paused_turn_replay_after_it(lab):
    """Item 121"""
    lab.play([ask("charge", cents=1), *mails("ann"), ask("note", text="a")], "done")
    paused = await lab.run()
    assert [found.value for found in paused.tool_results] == ["charged 1", "noted a"]
    await lab.decide()
    result = await lab.recover()
    assert sorted(map(str, lab.ran)) == sorted(
        map(str, [("charge", 1), ("note", "a"), ("mail", "ann")])
    )
    assert [text for role, text in said(result) if role == "tool"] == [
        *("charged 1", "mailed ann", "noted a")
    ]
    assert [found.value for found in result.tool_results] == ["mailed ann"]


async def test_a_later_equal_call_is_a_new_request(lab):
    """Item 116"""
    lab.play(mails("ann"), mails("ann"), "done")
    [first] = (await lab.run()).pending
    await lab.decide()
    [second] = (await lab.recover()).pending
    assert (second.id != first.id, lab.ran) == (True, [("mail", "ann")])
    await lab.decide(NO)
    assert (await lab.recover()).status == "done"
    assert lab.ran == [("mail", "ann")]


async def test_edits_are_what_runs(lab):
    lab.play(mails("ann"), "done")
    await lab.run()
    await lab.decide(replace(YES, edits={"to": "bob"}))
    assert said(await lab.recover())[2] == ("tool", "mailed bob")
    assert lab.ran == [("mail", "bob")]


async def test_edits_that_do_not_fit_run_nothing(lab):
    lab.play(mails("ann"), "done")
    await lab.run()
    await lab.decide(replace(YES, edits={"whom": "bob"}))
    result = await lab.recover()
    assert (result.messages[2].status, lab.ran) == ("error", [])


@pytest.mark.parametrize(
    "forged",
    [
        {"digest": "0" * 64},
        {"tool": "charge"},
        {"arguments": {"to": "eve"}},
    ],
    ids=str,
)
async def test_a_decision_on_what_somebody_edited_in_the_store_runs_nothing(lab, forged):
    """Item 117: the person was shown something else than what would run."""
    lab.play(mails("ann"), "done")
    [request] = (await lab.run()).pending
    lab.approvals._stored[request.id] = StoredApproval(replace(request, **forged), YES)
    with contextlib.suppress(ApprovalConflict):
        await lab.recover()
    assert lab.ran == []


@pytest.mark.parametrize("write", range(1, 6))
@pytest.mark.parametrize("answer_lost", [False, True])
async def test_no_crash_between_the_decision_and_the_end_loses_it_or_uses_it_twice(
    lab, write, answer_lost
):
    """Item 115"""
    lab.play(mails("ann"), "done")
    await lab.run()
    await lab.decide()
    dying = Tape(lab.store)
    dying.breaks_at, dying.answer_lost = write, answer_lost
    try:
        await lab.recover(checkpoints=dying)
    except Outage:
        pass
    else:
        assert dying.writes == ["save running", "claim started", "claim done", "save done"]
        return
    if await lab.status() != "done":
        try:
            result = await lab.recover()
        except RecoveryNeedsDecision as needed:
            [call] = needed.calls
            ran = call.idempotency_key in lab.keys
            result = await lab.recover(rerun_in_doubt=not ran, decisions=given(call, ran=ran))
        assert (result.status, said(result)[2]) == ("done", ("tool", "mailed ann"))
    assert (lab.ran, await lab.approvals.list_pending()) == ([("mail", "ann")], [])


def given(call, *, ran):
    return {call.question_id: Happened("mailed ann")} if ran else {}


@pytest.mark.parametrize("write", [3, 4])
@pytest.mark.parametrize("answer_lost", [False, True])
async def test_a_crash_while_a_run_pauses_asks_nobody_twice(lab, write, answer_lost):
    """Item 115: the request that stands is the one that counts, whatever was stored of the pause."""
    lab.play(mails("ann"), "done")
    lab.break_at(write, answer_lost=answer_lost)
    with pytest.raises(Outage):
        await lab.run()
    [request] = await lab.approvals.list_pending()
    assert (await lab.recover()).pending == (request,)
    await lab.decide()
    assert (await lab.recover()).status == "done"
    assert lab.ran == [("mail", "ann")]


async def test_a_call_that_cannot_wait_with_it_fails_the_pause(lab):
    """Item 122: the error names it, and the run is not paused; it is in doubt, and with its result the pause comes."""
    lab.inside["charge"] = lambda cents: object()
    lab.play([ask("charge", cents=1), *mails("ann")], "done")
    with pytest.raises(NotSealable, match=r"charge:.*object"):
        await lab.run()
    assert await lab.status() == "running"
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover()
    [call] = raised.value.calls
    assert call.tool == "charge"
    again = await lab.recover(decisions={call.question_id: Happened("charged 1")})
    assert (again.status, len(again.pending)) == ("paused", 1)
    await lab.decide()
    result = await lab.recover()
    assert (result.status, lab.ran) == ("done", [("charge", 1), ("mail", "ann")])


async def test_a_paused_run_is_never_cleared_away(lab):
    """Item 123"""
    lab.play(mails("ann"), "done")
    await lab.run()
    assert await lab.store.prune(0) == 0
    await lab.decide()
    assert (await lab.recover()).status == "done"


async def test_an_executor_does_not_resume_what_a_run_parked(lab):
    lab.play(mails("ann"), "done")
    [request] = (await lab.run()).pending
    with pytest.raises(ToolUsageError, match=RUN):
        await lab.executor.resume(request.id, YES)
    assert lab.ran == []


async def test_a_request_that_expired_is_a_denial(lab):
    """Item 120: nobody decided, so nobody approved."""
    lab.executor = Executor(approvals=StoreApprovals(lab.approvals, expires_after_s=3600))
    lab.play(mails("ann"), "a pity")
    [request] = (await lab.run()).pending
    long_ago = replace(request, expires_at=request.created_at)
    lab.approvals._stored[request.id] = StoredApproval(long_ago)
    result = await lab.recover()
    assert (result.status, result.messages[2].status, lab.ran) == ("done", "denied", [])


async def test_a_port_that_decides_at_once_pauses_nothing(lab):
    class Quick:
        async def request(self, request, ctx):
            return ApprovalDecision(approved=request.arguments["to"] == "ann", decided_by="rule")

    lab.executor = Executor(approvals=Quick())
    lab.play(mails("ann", "bob"), "done")
    result = await lab.run()
    assert (result.status, lab.ran) == ("done", [("mail", "ann")])
    assert [message.status for message in result.messages[2:4]] == ["ok", "denied"]
