"""A call in doubt that a policy stops when it is to run again: the doubt stays, nothing says that it never happened."""

import pytest
from tests.exec.loop_kit import NO, YES, Lab, Outage, ask

from agent_adapter import Executor, RecoveryNeedsDecision, RunContext
from agent_adapter.exec import Happened, Rerun
from agent_adapter.policies import Deny, Replace


@pytest.fixture
async def lab(store) -> Lab:
    """A run whose charge took effect, and nobody knows."""
    lab = Lab(store)
    lab.without("mail")
    lab.play([ask("charge", cents=5)], "done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run()
    assert lab.ran == [("charge", 5)]
    return lab


def closed(call, ctx):
    return Deny("closed now")


def other(call, ctx):
    return Replace({"cent": 1})


@pytest.mark.parametrize("guard", [closed, other], ids=["denies", "replaces, and does not fit"])
@pytest.mark.parametrize("by", ["rerun_in_doubt", "decision"])
async def test_a_guard_that_stops_it_leaves_the_question_open(lab, guard, by):
    """Item 86: and the record says "started" as before."""
    with pytest.raises(RecoveryNeedsDecision) as first:
        await lab.recover()
    [call] = first.value.calls
    word = (
        {"rerun_in_doubt": True} if by != "decision" else {"decisions": {call.question_id: Rerun()}}
    )
    with pytest.raises(RecoveryNeedsDecision) as again:
        await lab.recover(executor=Executor(guards=[guard]), **word)
    [still] = again.value.calls
    assert (still.tool, still.idempotency_key) == ("charge", call.idempotency_key)
    assert [record.state for record in await lab.records()] == ["started"]
    result = await lab.recover(decisions={still.question_id: Happened("charged by hand")})
    assert result.messages[2].text == "charged by hand"
    assert lab.ran == [("charge", 5)]


@pytest.mark.parametrize("word", [NO, YES], ids=["denied", "approved"])
async def test_a_person_at_a_new_gate_cannot_turn_the_doubt_into_a_denial(lab, word):
    """Item 86: the tool has learned to ask meanwhile."""
    lab.change("charge", confirm=lambda _, ctx: ctx.user == "x")
    ctx = RunContext(user="x")
    with pytest.raises(RecoveryNeedsDecision):
        await lab.recover(rerun_in_doubt=True, ctx=ctx)
    await lab.decide(word)
    with pytest.raises(RecoveryNeedsDecision) as again:
        await lab.recover(ctx=RunContext(user="x"))
    [call] = again.value.calls
    assert (call.tool, call.arguments) == ("charge", {"cents": 5})
    assert lab.ran == [("charge", 5)]
    assert "done" not in [record.state for record in await lab.records()]
