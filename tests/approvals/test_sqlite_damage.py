"""Rows that somebody edited are refused before anything in them is used: item 117."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.approvals import (
    ApprovalDecision,
    SQLiteApprovalStore,
    StoreApprovals,
)
from agent_adapter.context import RunContext
from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.testing.approvals import approval_request

Execute = Callable[..., list[Any]]

YES = ApprovalDecision(approved=True, decided_by="ann")
NO = ApprovalDecision(approved=False, decided_by="ann")


@pytest.fixture
async def store(sqlite_approvals: SQLiteApprovalStore) -> SQLiteApprovalStore:
    """One request of each state: waiting, denied and used, of calls that are equal but for their ids."""
    for request_id in ("waiting", "denied", "used"):
        await sqlite_approvals.park(approval_request(request_id))
    await sqlite_approvals.decide("denied", NO)
    await sqlite_approvals.decide("used", YES)
    await sqlite_approvals.consume("used", "call a")
    return sqlite_approvals


async def refuses(store: SQLiteApprovalStore, request_id: str) -> None:
    for doing in (
        store.get(request_id),
        store.park(approval_request(request_id)),
        store.park(approval_request(request_id, digest="d2")),
        store.decide(request_id, YES),
        store.decide(request_id, NO),
        store.consume(request_id, "call a"),
        StoreApprovals(store).request(approval_request(request_id), RunContext()),
    ):
        with pytest.raises(CheckpointStoreCorrupt, match=f"approval request '{request_id}'"):
            await doing


@pytest.mark.parametrize("request_id", ["waiting", "denied", "used"])
@pytest.mark.parametrize(
    "edit",
    [
        "tool = 'refund'",
        "tool = x'00'",
        "digest = 'd2'",
        "digest = 7",
        "run_id = 'another'",
        "run_id = NULL",
        "run_id = 7",
        "run_id = x'ff'",
        "state = upper(state)",
        "state = CASE state WHEN 'used' THEN 'decided' ELSE 'used' END",
        "document = ''",
        "document = x'00ff'",
        "document = 5",
        "document = '{}'",
        "document = replace(CAST(document AS TEXT), '5', '6') || ' '",
    ],
)
async def test_an_edited_row_is_refused_by_every_method(
    store: SQLiteApprovalStore, execute: Execute, request_id: str, edit: str
) -> None:
    """Item 117: whichever column it was, and whatever stands for the request."""
    execute(f"UPDATE agent_adapter_approvals SET {edit} WHERE id = ?", request_id)  # noqa: S608
    await refuses(store, request_id)


@pytest.mark.parametrize(
    ("victim", "source"),
    [("waiting", "used"), ("denied", "used"), ("used", "waiting"), ("used", "denied")],
)
async def test_a_decision_is_not_taken_from_another_row(
    store: SQLiteApprovalStore, execute: Execute, victim: str, source: str
) -> None:
    """Item 117: a whole sealed row of an equal call, with its state, decides nothing under another id."""
    execute(
        "UPDATE agent_adapter_approvals SET (state, document) ="
        " (SELECT state, document FROM agent_adapter_approvals WHERE id = ?) WHERE id = ?",
        source,
        victim,
    )
    await refuses(store, victim)


async def test_a_row_under_another_id_is_refused(
    store: SQLiteApprovalStore, execute: Execute
) -> None:
    execute("UPDATE agent_adapter_approvals SET id = 'moved' WHERE id = 'used'")
    await refuses(store, "moved")


async def test_a_denial_is_not_turned_into_a_wish_by_its_state(
    store: SQLiteApprovalStore, execute: Execute
) -> None:
    """A decided request that is marked as waiting is no pending request again."""
    execute("UPDATE agent_adapter_approvals SET state = 'waiting' WHERE id = 'denied'")
    with pytest.raises(CheckpointStoreCorrupt, match="'denied'"):
        await store.list_pending()


async def test_an_edited_request_is_not_shown_to_a_person(
    store: SQLiteApprovalStore, execute: Execute
) -> None:
    execute("UPDATE agent_adapter_approvals SET tool = 'refund' WHERE id = 'waiting'")
    with pytest.raises(CheckpointStoreCorrupt, match="'waiting'"):
        await store.list_pending()


async def test_other_rows_are_as_they_were(store: SQLiteApprovalStore, execute: Execute) -> None:
    """One bad row spoils itself alone, and its run is named."""
    execute("UPDATE agent_adapter_approvals SET tool = 'refund' WHERE id = 'waiting'")
    assert await store.consume("denied", "call b") == NO
    with pytest.raises(CheckpointStoreCorrupt) as caught:
        await store.get("waiting")
    assert caught.value.run_id == "run"


async def test_a_row_that_another_key_sealed_is_refused(
    store: SQLiteApprovalStore, file: Path
) -> None:
    """Who can write the file but not read the key approves nothing."""
    forger = SQLiteApprovalStore(file, key="another key " * 3)
    await forger.park(approval_request("forged"))
    await forger.decide("forged", YES)
    await refuses(store, "forged")
