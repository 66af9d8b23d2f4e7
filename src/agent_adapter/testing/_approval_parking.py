"""The contract of approval stores: what is parked stands as it is, once for each request."""

import asyncio
from dataclasses import replace
from typing import Any

from agent_adapter.approvals import ApprovalStore, StoredApproval
from agent_adapter.errors import ApprovalConflict, NotSealable, ToolUsageError
from agent_adapter.testing._approval_values import (
    FAR_AHEAD,
    LONG_AGO,
    NO,
    YES,
    approval_request,
    nested,
)
from agent_adapter.testing._store_values import refused


async def it_has_the_protocol(store: Any) -> None:
    """The store has the methods of the protocol."""
    assert isinstance(store, ApprovalStore)


async def a_parked_request_is_given_back(store: ApprovalStore) -> None:
    """`park` and `get` give what was parked, every field of it; an unknown id gives None."""
    request = approval_request(expires_at=FAR_AHEAD)
    assert await store.get("r1") is None
    assert await store.park(request) == StoredApproval(request)
    stored = await store.get("r1")
    assert stored == StoredApproval(request)
    assert stored.request.created_at == LONG_AGO
    assert stored.request.expires_at == FAR_AHEAD
    assert await store.get("r2") is None


async def parking_again_changes_nothing(store: ApprovalStore) -> None:
    """The first request of an id stands with its reason and its end, undecided, decided and used."""
    first = approval_request(expires_at=FAR_AHEAD)
    again = replace(
        first, reason="another", call_id="call-2", expires_at=None, created_at=FAR_AHEAD
    )
    await store.park(first)
    parked = await store.park(again)
    assert parked == StoredApproval(first)
    assert parked.request.created_at == LONG_AGO
    await store.decide("r1", YES)
    assert await store.park(again) == StoredApproval(first, YES)
    await store.consume("r1", "call a")
    assert await store.park(again) == StoredApproval(first, YES, "call a")
    assert await store.list_pending() == []


async def an_id_stands_for_one_call(store: ApprovalStore) -> None:
    """Item 117: another tool or other arguments under a known id are refused, and no decision covers them."""
    await store.park(approval_request())
    await store.decide("r1", YES)
    for other in (approval_request(tool="refund"), approval_request(digest="d2")):
        await refused(ApprovalConflict, store.park(other))
    assert await store.get("r1") == StoredApproval(approval_request(), YES)


async def arguments_come_back_exactly(store: ApprovalStore) -> None:
    """Unicode, NUL, lone surrogates, large numbers and texts, deep and `$` names are kept with their types."""
    values: tuple[Any, ...] = (
        {"text": "Straße 実行 🚀 \x00 \ud800 \u2028"},
        {"\x00": 1, "": 2, "z": 3, "a": 4},
        {"numbers": [0, -1, 2**63, 10**40, 0.1, -0.0, 1e308, 1, 1.0, True, None]},
        {"$tuple": [1], "$": {"$model": "x"}},
        {"deep": nested(300)},
        {"large": "é" * 1_000_000},
        [],
        None,
    )
    for n, arguments in enumerate(values):
        await store.park(approval_request(f"r{n}", arguments=arguments))
        stored = await store.get(f"r{n}")
        assert stored is not None
        assert repr(stored.request.arguments) == repr(arguments)


async def arguments_that_are_not_plain_are_refused(store: ApprovalStore) -> None:
    """What is no plain JSON would not come back as it is; nothing is stored."""
    for odd in ((1, 2), b"x", float("nan"), {1: 2}, LONG_AGO, object()):
        await refused(NotSealable, store.park(approval_request(arguments={"x": [odd]})))
    assert await store.list_pending() == []


async def ids_are_plain_text(store: ApprovalStore) -> None:
    """No character of an id has a meaning to the backend, and ids are told apart exactly."""
    ids = ("a", "A", "a ", "a:b", "{a}", "%", "Straße/実行/🚀", "'; --", "x" * 255)
    for request_id in ids:
        await store.park(approval_request(request_id, reason=request_id))
    for request_id in ids:
        stored = await store.get(request_id)
        assert stored == StoredApproval(approval_request(request_id, reason=request_id))


async def what_is_given_and_read_is_a_copy(store: ApprovalStore) -> None:
    """Changing the arguments or the edits that were given or read changes nothing that is stored."""
    arguments, edits = {"items": [1]}, {"items": [2]}
    changed = replace(YES, edits=edits)
    read = [
        (await store.park(approval_request(arguments=arguments))).request.arguments,
        (await store.list_pending())[0].arguments,
        (await store.decide("r1", changed)).request.arguments,
    ]
    stored = await store.get("r1")
    assert stored is not None
    assert stored.decision is not None
    used = await store.consume("r1", "call a")
    for value in (arguments, edits, *read, stored.request.arguments):
        value["items"].append("forged")
    for decision in (stored.decision, used):
        assert decision.edits is not None
        decision.edits["items"].append("forged")
    assert await store.get("r1") == StoredApproval(
        approval_request(arguments={"items": [1]}), replace(YES, edits={"items": [2]}), "call a"
    )


async def pending_requests_are_listed_in_order(store: ApprovalStore) -> None:
    """Requests that can still be decided are listed as they were parked: none that is decided, used or expired."""
    for request_id in ("c", "a", "b", "decided", "used"):
        await store.park(approval_request(request_id))
    await store.park(approval_request("expired", expires_at=LONG_AGO))
    await store.park(approval_request("later", expires_at=FAR_AHEAD))
    await store.park(approval_request("c"))
    await store.decide("decided", NO)
    await store.decide("used", YES)
    await store.consume("used", "call a")
    assert await store.list_pending() == [
        approval_request("c"),
        approval_request("a"),
        approval_request("b"),
        approval_request("later", expires_at=FAR_AHEAD),
    ]


async def one_of_many_racing_parks_stands(store: ApprovalStore) -> None:
    """Eight requests of one id at once are one request, the same for all."""
    mine = [approval_request(reason=f"worker {n}") for n in range(8)]
    given = await asyncio.gather(*(store.park(request) for request in mine))
    assert given == [given[0]] * 8
    assert given[0].request in mine
    assert await store.list_pending() == [given[0].request]


async def bad_arguments_are_refused(store: ApprovalStore) -> None:
    """What is no request, no decision and no name is the caller's fault, in every method; nothing is stored."""
    wrong: Any = {"approved": True}
    naive = LONG_AGO.replace(tzinfo=None)
    bad = [approval_request(request_id) for request_id in ("", "\ud800")]
    bad += [approval_request(tool=""), approval_request(digest="")]
    bad += [approval_request(created_at=naive), approval_request(expires_at=naive)]
    for request in (wrong, *bad):
        await refused(ToolUsageError, store.park(request))
    assert await store.list_pending() == []
    await store.park(approval_request())
    decisions: tuple[Any, ...] = (wrong, True, None, replace(YES, decided_at=naive))
    for decision in decisions:
        await refused(ToolUsageError, store.decide("r1", decision))
    names: tuple[Any, ...] = ("", None, 7, "\ud800")
    for name in names:
        await refused(ToolUsageError, store.get(name))
        await refused(ToolUsageError, store.decide(name, YES))
        await refused(ToolUsageError, store.consume(name, "call a"))
        await refused(ToolUsageError, store.consume("r1", name))
    assert await store.get("r1") == StoredApproval(approval_request())
