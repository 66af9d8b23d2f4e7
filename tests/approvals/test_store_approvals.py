"""StoreApprovals, the standard port: it parks, finds what was decided, and lets requests run out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent_adapter.approvals import (
    ApprovalDecision,
    ApprovalStore,
    MemoryApprovalStore,
    SQLiteApprovalStore,
    StoreApprovals,
    StoredApproval,
    approval_store,
)
from agent_adapter.context import RunContext
from agent_adapter.errors import ApprovalConflict, ConfigError
from agent_adapter.testing.approvals import approval_request

CTX = RunContext()
START = datetime(2030, 1, 1, tzinfo=UTC)
YES = ApprovalDecision(approved=True, decided_by="ann", reason="is fine")
NO = ApprovalDecision(approved=False, decided_by="bob", reason="is not")


class Clock:
    """An instant that a test moves on."""

    def __init__(self) -> None:
        self.instant = START

    def __call__(self) -> datetime:
        return self.instant

    def move(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, clock: Clock, tmp_path: Any) -> ApprovalStore:
    if request.param == "memory":
        return MemoryApprovalStore(clock=clock)
    return SQLiteApprovalStore(tmp_path / "runs.db", clock=clock)


async def test_asking_parks_and_asking_again_parks_nothing_more(store: ApprovalStore) -> None:
    """Item 120: nobody decided, so there is no decision."""
    port = StoreApprovals(store)
    for _ in range(2):
        assert await port.request(approval_request(), CTX) is None
    assert await store.list_pending() == [approval_request()]


@pytest.mark.parametrize("decision", [YES, NO])
async def test_the_stored_decision_is_the_answer_and_is_not_used_up(
    store: ApprovalStore, decision: ApprovalDecision
) -> None:
    port = StoreApprovals(store)
    await port.request(approval_request(), CTX)
    await store.decide("r1", decision)
    for _ in range(2):
        assert await port.request(approval_request(), CTX) == decision
    assert await store.get("r1") == StoredApproval(approval_request(), decision)


async def test_other_arguments_under_the_id_are_not_covered(store: ApprovalStore) -> None:
    """Item 117."""
    port = StoreApprovals(store)
    await port.request(approval_request(), CTX)
    await store.decide("r1", YES)
    with pytest.raises(ApprovalConflict, match="another call"):
        await port.request(approval_request(digest="d2"), CTX)


async def test_the_end_counts_from_the_first_time_it_was_parked(
    store: ApprovalStore, clock: Clock
) -> None:
    port = StoreApprovals(store, expires_after_s=60, clock=clock)
    await port.request(approval_request(), CTX)
    clock.move(59)
    assert await port.request(approval_request(), CTX) is None
    assert await store.list_pending() == [
        approval_request(expires_at=START + timedelta(seconds=60))
    ]


async def test_the_requests_own_end_is_kept(store: ApprovalStore, clock: Clock) -> None:
    mine = approval_request(expires_at=START + timedelta(days=1))
    await StoreApprovals(store, expires_after_s=60, clock=clock).request(mine, CTX)
    assert await store.list_pending() == [mine]


async def test_nobody_decided_in_time_is_a_denial(store: ApprovalStore, clock: Clock) -> None:
    """Expiry denies, by name and with a reason; it approves nothing, then and later."""
    port = StoreApprovals(store, expires_after_s=60, clock=clock)
    await port.request(approval_request(), CTX)
    clock.move(60)
    denial = ApprovalDecision(
        approved=False, decided_by="expiry", reason="nobody decided in time", decided_at=START
    )
    for _ in range(2):
        assert await port.request(approval_request(), CTX) == denial
    with pytest.raises(ApprovalConflict, match="has expired"):
        await store.decide("r1", YES)
    assert await port.request(approval_request(), CTX) == denial


@pytest.mark.parametrize("decision", [YES, NO])
async def test_a_decision_in_time_counts_after_the_end(
    store: ApprovalStore, clock: Clock, decision: ApprovalDecision
) -> None:
    port = StoreApprovals(store, expires_after_s=60, clock=clock)
    await port.request(approval_request(), CTX)
    await store.decide("r1", decision)
    clock.move(3600)
    assert await port.request(approval_request(), CTX) == decision


async def test_a_decision_that_races_the_end_counts(clock: Clock) -> None:
    """The port saw no decision, then the last one came, then the time was over: the stored one is the answer."""

    class DecidedMeanwhile(MemoryApprovalStore):
        async def park(self, request: Any) -> StoredApproval:
            parked = await super().park(request)
            if parked.decision is None:
                await self.decide(request.id, YES)
                clock.move(60)
            return parked

    port = StoreApprovals(DecidedMeanwhile(clock=clock), expires_after_s=60, clock=clock)
    assert await port.request(approval_request(), CTX) == YES


async def test_a_port_without_an_end_waits_for_ever(store: ApprovalStore, clock: Clock) -> None:
    """Item 123."""
    port = StoreApprovals(store, clock=clock)
    await port.request(approval_request(), CTX)
    clock.move(3e9)
    assert await port.request(approval_request(), CTX) is None
    await store.decide("r1", YES)
    assert await port.request(approval_request(), CTX) == YES


def test_the_port_shows_its_store() -> None:
    """Item 144."""
    store = MemoryApprovalStore()
    assert approval_store(StoreApprovals(store)) is store


@pytest.mark.parametrize("store", [None, "runs.db", MemoryApprovalStore, object()])
def test_what_is_no_store_is_refused(store: Any) -> None:
    with pytest.raises(ConfigError, match="must be an ApprovalStore"):
        StoreApprovals(store)


@pytest.mark.parametrize("seconds", [0, -1, True, "60", float("nan"), float("inf"), 1e12])
def test_what_is_no_number_of_seconds_is_refused(seconds: Any) -> None:
    with pytest.raises(ConfigError, match="expires_after_s"):
        StoreApprovals(MemoryApprovalStore(), expires_after_s=seconds)
