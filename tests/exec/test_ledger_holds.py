"""Ledger, calls that a port of the caller's own decides about: held once, begun once, under a decision that is kept."""

from typing import Any

import pytest

from agent_adapter import ToolPolicy
from agent_adapter.exec.integration import Attempt, CallId, ClaimLost

SHOWN = {"amount": 5}


async def enter(fleet: Any, name: str, call: CallId, policy: ToolPolicy | None = None) -> Attempt:
    entered = await fleet[name].enter(call, policy=policy or ToolPolicy())
    assert isinstance(entered, Attempt)
    return entered


async def test_a_held_call_is_noted_once_and_whoever_meets_it_has_its_right(fleet, call):
    """Item 114, for a port of the caller's own."""
    attempt = await enter(fleet, "a", call)
    await attempt.hold("req-1", SHOWN)
    attempt.land()
    records = await fleet.records(call)

    again = await enter(fleet, "b", call)
    await again.hold("req-1", SHOWN)
    again.land()

    assert await fleet.records(call) == records
    assert [record.state for record in records.values()] == ["pending"]


async def test_a_held_call_that_somebody_began_meanwhile_is_not_held_again(fleet, call):
    attempt = await enter(fleet, "a", call)
    slow = await enter(fleet, "b", call)
    await attempt.start({"amount": 5})

    with pytest.raises(ClaimLost):
        await slow.hold("req-1", SHOWN)


@pytest.mark.parametrize("answer", [None, {"amount": 6}], ids=["approved", "edited"])
async def test_the_decision_is_kept_for_whoever_runs_the_call_again(fleet, call, answer):
    """Item 115: the decision is never lost."""
    policy = ToolPolicy(idempotent=True)
    attempt = await enter(fleet, "a", call, policy=policy)
    decision = {"approved": True, "edits": answer, "by": "ann", "reason": "fine"}
    attempt.gate.decided("req-1", SHOWN, decision)
    await attempt.start(answer or SHOWN)
    fleet.states["a"] = "dead"

    again = await enter(fleet, "b", call, policy=policy)
    again.land()

    assert again.gate.approval("req-1") == decision
    assert again.gate.approval("req-2") is None


@pytest.mark.parametrize("approved", [True, False])
async def test_of_two_decisions_the_first_recorded_counts_and_nothing_begins_for_the_other(
    fleet, call, approved
):
    """Item 116."""
    one, two = await enter(fleet, "a", call), await enter(fleet, "b", call)
    one.gate.decided("req-1", SHOWN, {"approved": approved, "edits": None, "by": "", "reason": ""})
    other = {"approved": True, "edits": {"amount": 6}, "by": "", "reason": ""}
    two.gate.decided("req-1", SHOWN, other)
    await (one.start(SHOWN) if approved else one.finish("denied"))

    with pytest.raises(ClaimLost):
        await two.start({"amount": 6})
