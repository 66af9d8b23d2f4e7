"""The contract of approval stores: the first decision stands, and it is used once."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from agent_adapter.approvals import ApprovalDecision, ApprovalStore, StoredApproval
from agent_adapter.errors import ApprovalConflict, NotSealable, ToolUsageError
from agent_adapter.testing._approval_values import FAR_AHEAD, LONG_AGO, NO, YES, approval_request
from agent_adapter.testing._store_values import refused

T = TypeVar("T")


async def a_decision_is_kept_exactly(store: ApprovalStore) -> None:
    """Item 118: who decided, when, why and with which edits come back as they were given, of a denial too."""
    edits = {"amount": 3, "note": "Straße \x00 🚀 \ud800", "$ref": [1, 1.0, True, None]}
    for request_id, decision in (
        ("yes", replace(YES, edits=edits)),
        ("empty", replace(YES, edits={})),
        ("plain", YES),
        ("no", replace(NO, decided_by="Bób <b@example.org>", reason="zu teuer\n\x00 🚀")),
    ):
        await store.park(approval_request(request_id))
        decided = await store.decide(request_id, decision)
        assert decided == StoredApproval(approval_request(request_id), decision)
        stored = await store.get(request_id)
        assert stored is not None
        used = await store.consume(request_id, "call a")
        for kept in (decided.decision, stored.decision, used):
            assert kept is not None
            assert repr(kept) == repr(decision)
            assert kept.decided_at == LONG_AGO


async def the_first_decision_stands(store: ApprovalStore) -> None:
    """The same decision again is fine, whoever brings it; another verdict or other edits are refused."""
    await store.park(approval_request())
    first = replace(YES, edits={"amount": 1})
    await store.decide("r1", first)
    again = replace(first, decided_by="eve", reason="me too", decided_at=FAR_AHEAD)
    assert await store.decide("r1", again) == StoredApproval(approval_request(), first)
    for other in (NO, YES, replace(YES, edits={"amount": 2}), replace(YES, edits={"amount": True})):
        await refused(ApprovalConflict, store.decide("r1", other))
    stored = await store.get("r1")
    assert stored == StoredApproval(approval_request(), first)


async def a_denial_stands_too(store: ApprovalStore) -> None:
    """No approval replaces a denial, before and after it was used."""
    await store.park(approval_request())
    await store.decide("r1", NO)
    await refused(ApprovalConflict, store.decide("r1", YES))
    assert await store.consume("r1", "call a") == NO
    await refused(ApprovalConflict, store.decide("r1", YES))
    assert await store.get("r1") == StoredApproval(approval_request(), NO, "call a")


async def what_was_not_parked_cannot_be_decided(store: ApprovalStore) -> None:
    """Decisions on unknown requests, and their use, are the caller's fault; nothing is stored."""
    await store.park(approval_request())
    await refused(ToolUsageError, store.decide("r2", YES))
    await refused(ToolUsageError, store.consume("r2", "call a"))
    assert await store.get("r2") is None


async def an_expired_request_takes_no_decision(store: ApprovalStore) -> None:
    """After `expires_at` nobody approves or denies, and nothing can be used: expiry approves nothing."""
    await store.park(approval_request(expires_at=LONG_AGO))
    for decision in (YES, NO):
        await refused(ApprovalConflict, store.decide("r1", decision))
    await refused(ApprovalConflict, store.consume("r1", "call a"))
    assert await store.get("r1") == StoredApproval(approval_request(expires_at=LONG_AGO))


async def a_request_may_be_decided_before_it_expires(store: ApprovalStore) -> None:
    """Until `expires_at` a decision counts."""
    await store.park(approval_request(expires_at=FAR_AHEAD))
    await store.decide("r1", YES)
    assert await store.consume("r1", "call a") == YES


async def an_undecided_request_cannot_be_used(store: ApprovalStore) -> None:
    """Item 120: without a decision there is nothing to use, and no consumer is noted."""
    await store.park(approval_request())
    await refused(ApprovalConflict, store.consume("r1", "call a"))
    assert await store.get("r1") == StoredApproval(approval_request())


async def a_decision_is_used_once(store: ApprovalStore) -> None:
    """Its consumer may ask again; another one is refused, and so is another decision on the same request."""
    await store.park(approval_request())
    await store.decide("r1", YES)
    for _ in range(2):
        assert await store.consume("r1", "call a") == YES
    await refused(ApprovalConflict, store.consume("r1", "call b"))
    await refused(ApprovalConflict, store.decide("r1", NO))
    assert await store.decide("r1", YES) == StoredApproval(approval_request(), YES, "call a")


async def requests_are_decided_one_by_one(store: ApprovalStore) -> None:
    """Item 116: a decision answers one request, however equal another one is."""
    for request_id in ("r1", "r2"):
        await store.park(approval_request(request_id))
    await store.decide("r1", YES)
    assert await store.get("r2") == StoredApproval(approval_request("r2"))
    await refused(ApprovalConflict, store.consume("r2", "call a"))
    await store.decide("r2", NO)
    assert await store.consume("r1", "call a") == YES
    assert await store.consume("r2", "call a") == NO


async def one_of_many_racing_decisions_stands(store: ApprovalStore) -> None:
    """Of eight different decisions at once one is stored, and the other seven are refused."""
    await store.park(approval_request())
    mine = [replace(YES, edits={"amount": n}) for n in range(7)] + [NO]
    outcomes = await asyncio.gather(*(_outcome(store.decide("r1", each)) for each in mine))
    won = [outcome for outcome in outcomes if outcome is not None]
    assert len(won) == 1
    assert won[0].decision == mine[outcomes.index(won[0])]
    assert await store.get("r1") == won[0]


async def one_of_many_racing_consumers_wins(store: ApprovalStore) -> None:
    """Of eight consumers at once one is given the decision, and the other seven are refused."""
    await store.park(approval_request())
    await store.decide("r1", YES)
    outcomes: list[ApprovalDecision | None] = await asyncio.gather(
        *(_outcome(store.consume("r1", f"call {n}")) for n in range(8))
    )
    won = [n for n, outcome in enumerate(outcomes) if outcome is not None]
    assert len(won) == 1
    assert outcomes[won[0]] == YES
    assert await store.get("r1") == StoredApproval(approval_request(), YES, f"call {won[0]}")


async def edits_without_an_exact_form_are_refused(store: ApprovalStore) -> None:
    """Edits that no store could give back never count, not even against a decision that stands."""
    odd = replace(YES, edits={"amount": object()})
    await store.park(approval_request())
    await refused(NotSealable, store.decide("r1", odd))
    assert await store.get("r1") == StoredApproval(approval_request())
    await store.decide("r1", replace(YES, edits={"amount": 1}))
    await refused(NotSealable, store.decide("r1", odd))


async def _outcome(doing: Awaitable[T]) -> T | None:
    try:
        return await doing
    except ApprovalConflict:
        return None
