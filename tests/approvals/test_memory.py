"""MemoryApprovalStore beside the contract: its clock, and what its refusals say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    ApprovalRequest,
    MemoryApprovalStore,
    ToolUsageError,
)

REQUEST = ApprovalRequest(id="r1", tool="charge", arguments={"amount": 5}, digest="d1")
YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)


async def test_only_requests_that_can_still_be_decided_are_pending():
    now = datetime(2030, 1, 1, tzinfo=UTC)
    store = MemoryApprovalStore(clock=lambda: now)
    expired = replace(REQUEST, id="old", expires_at=now)
    waiting = replace(REQUEST, id="new", expires_at=now + timedelta(microseconds=1))
    for request in (REQUEST, expired, waiting):
        await store.park(request)
    await store.decide("r1", NO)
    assert await store.list_pending() == [waiting]
    with pytest.raises(ApprovalConflict, match="'old' has expired"):
        await store.decide("old", YES)


async def test_a_refusal_says_which_request_and_why():
    store = MemoryApprovalStore()
    with pytest.raises(ToolUsageError, match="no approval request 'r1'"):
        await store.decide("r1", YES)
    with pytest.raises(ToolUsageError, match="no approval request 'r1'"):
        await store.consume("r1", "call a")
    await store.park(REQUEST)
    with pytest.raises(ApprovalConflict, match="'r1' was parked for another call of 'charge'"):
        await store.park(replace(REQUEST, digest="d2"))
    with pytest.raises(ApprovalConflict, match="'r1' is not decided yet"):
        await store.consume("r1", "call a")
    await store.decide("r1", YES)
    with pytest.raises(ApprovalConflict, match="'r1' was decided differently"):
        await store.decide("r1", NO)
    await store.consume("r1", "call a")
    with pytest.raises(ApprovalConflict, match="'r1': its decision was used already"):
        await store.consume("r1", "call b")
