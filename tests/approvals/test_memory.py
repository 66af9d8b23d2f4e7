"""MemoryApprovalStore: parked once, first decision wins, used once."""

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
from agent_adapter.approvals import StoredApproval

REQUEST = ApprovalRequest(id="r1", tool="charge", arguments={"amount": 5}, digest="d1")
YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)


@pytest.fixture
async def store():
    made = MemoryApprovalStore()
    await made.park(REQUEST)
    return made


async def test_parking_again_changes_nothing(store):
    await store.decide("r1", YES)
    assert await store.park(replace(REQUEST, reason="again")) == StoredApproval(REQUEST, YES)


async def test_an_id_stands_for_one_call(store):
    with pytest.raises(ApprovalConflict, match="another call of 'charge'"):
        await store.park(replace(REQUEST, digest="d2"))


async def test_what_is_stored_is_not_the_callers_object(store):
    (await store.get("r1")).request.arguments["amount"] = 500
    (await store.list_pending())[0].arguments["amount"] = 500
    assert (await store.get("r1")).request.arguments == {"amount": 5}


async def test_the_first_decision_stands(store):
    await store.decide("r1", YES)
    await store.decide("r1", ApprovalDecision(approved=True, decided_by="somebody else"))
    with pytest.raises(ApprovalConflict, match="decided differently"):
        await store.decide("r1", NO)
    assert (await store.get("r1")).decision == YES


async def test_a_decision_is_used_by_one_consumer_who_may_ask_again(store):
    await store.decide("r1", YES)
    assert await store.consume("r1", "call a") == YES
    assert await store.consume("r1", "call a") == YES
    with pytest.raises(ApprovalConflict, match="used already"):
        await store.consume("r1", "call b")


async def test_an_undecided_request_cannot_be_used(store):
    with pytest.raises(ApprovalConflict, match="not decided yet"):
        await store.consume("r1", "call a")


async def test_only_requests_that_can_still_be_decided_are_pending():
    now = datetime(2030, 1, 1, tzinfo=UTC)
    store = MemoryApprovalStore(clock=lambda: now)
    expired = replace(REQUEST, id="old", expires_at=now - timedelta(seconds=1))
    waiting = replace(REQUEST, id="new", expires_at=now + timedelta(seconds=1))
    for request in (REQUEST, expired, waiting):
        await store.park(request)
    await store.decide("r1", NO)
    assert await store.list_pending() == [waiting]
    with pytest.raises(ApprovalConflict, match="has expired"):
        await store.decide("old", YES)


async def test_an_unknown_id_is_refused(store):
    assert await store.get("r2") is None
    with pytest.raises(ToolUsageError, match="no approval request 'r2'"):
        await store.decide("r2", YES)
    with pytest.raises(ToolUsageError, match="no approval request 'r2'"):
        await store.consume("r2", "call")
