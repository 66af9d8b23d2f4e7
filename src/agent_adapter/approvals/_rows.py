"""The statements on the approvals of a SQLite file, as functions of a connection that holds a transaction.

Each row is one sealed document, bound to the columns beside it: to take a decision or its consumer out of a row is to
break its seal. Those that write look first and raise before they change anything.
"""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from agent_adapter._sealing import KeyRing, seal, unseal
from agent_adapter._sqlite import LARGEST_TEXT_BYTES, pack, unpack
from agent_adapter.approvals import _rules as rules
from agent_adapter.approvals._plain import (
    decision_from_plain,
    request_from_plain,
    stored_from_plain,
    stored_to_plain,
)
from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest
from agent_adapter.errors import CheckpointStoreCorrupt, ToolUsageError

_COLUMNS = "id, run_id, tool, digest, state, document"


def park(connection: sqlite3.Connection, ring: KeyRing, *, form: dict[str, Any]) -> StoredApproval:
    """What stands for the request of this form; see `ApprovalStore.park`."""
    request = request_from_plain(form)
    standing = load(connection, ring, request_id=request.id)
    if standing is not None:
        rules.check_same_call(standing.request, request)
        return standing
    stored = StoredApproval(request)
    connection.execute(
        f"INSERT INTO agent_adapter_approvals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            request.id,
            request.run_id,
            request.tool,
            request.digest,
            *_sealed(ring, stored),
        ),
    )
    return stored


def load(
    connection: sqlite3.Connection, ring: KeyRing, *, request_id: str
) -> StoredApproval | None:
    """What is stored under the id, once its seal was checked; None when nothing is."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM agent_adapter_approvals WHERE id = ?",  # noqa: S608
        (request_id,),
    ).fetchone()
    return None if row is None else _opened(ring, row)


def decide(
    connection: sqlite3.Connection,
    ring: KeyRing,
    *,
    request_id: str,
    form: dict[str, Any],
    clock: Callable[[], datetime],
) -> StoredApproval:
    """What stands once the decision of this form was made; see `ApprovalStore.decide`."""
    stored = load(connection, ring, request_id=request_id)
    standing = rules.decided(stored, request_id, decision_from_plain(form), clock())
    if standing is not stored:
        _update(connection, ring, standing)
    return standing


def consume(
    connection: sqlite3.Connection, ring: KeyRing, *, request_id: str, consumer: str
) -> ApprovalDecision:
    """The decision, once this consumer has it; see `ApprovalStore.consume`."""
    stored = load(connection, ring, request_id=request_id)
    standing, decision = rules.consumed(stored, request_id, consumer)
    if standing is not stored:
        _update(connection, ring, standing)
    return decision


def waiting(connection: sqlite3.Connection, ring: KeyRing) -> list[ApprovalRequest]:
    """The undecided requests in the order in which they were parked, expired ones too."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM agent_adapter_approvals WHERE state = 'waiting' ORDER BY n"  # noqa: S608
    )
    return [_opened(ring, row).request for row in found]


def _update(connection: sqlite3.Connection, ring: KeyRing, stored: StoredApproval) -> None:
    connection.execute(
        "UPDATE agent_adapter_approvals SET state = ?, document = ? WHERE id = ?",
        (*_sealed(ring, stored), stored.request.id),
    )


def _sealed(ring: KeyRing, stored: StoredApproval) -> tuple[str, str | bytes]:
    """The state and the document of the row."""
    request, state = stored.request, _state(stored)
    binding = _binding(request.id, request.run_id, request.tool, request.digest, state)
    document = seal(ring, stored_to_plain(stored), binding)
    if len(document) > LARGEST_TEXT_BYTES:
        raise ToolUsageError(
            f"request {request.id!r} has {len(document)} bytes, more than {LARGEST_TEXT_BYTES}"
        )
    return state, pack(document)


def _opened(ring: KeyRing, row: Sequence[Any]) -> StoredApproval:
    """What the row holds.

    Raises:
        CheckpointStoreCorrupt: its seal does not match these columns, or its form is another.
    """
    *columns, document = row
    request_id, run_id, *_ = columns
    run = run_id if isinstance(run_id, str) else ""
    try:
        return stored_from_plain(unseal(ring, unpack(run, document), _binding(*columns)))
    except CheckpointStoreCorrupt as exc:
        raise CheckpointStoreCorrupt(run, f"approval request {request_id!r}: {exc.reason}") from exc
    except ToolUsageError as exc:
        raise CheckpointStoreCorrupt(
            run,
            f"approval request {request_id!r} is sealed in a form that this release does not read: {exc}",
        ) from exc


def _binding(
    request_id: str, run_id: str | None, tool: str, digest: str, state: str
) -> dict[str, str | int]:
    binding: dict[str, str | int] = {
        "kind": "approval",
        "id": request_id,
        "tool": tool,
        "digest": digest,
        "state": state,
    }
    if run_id is not None:
        binding["run_id"] = run_id
    return binding


def _state(stored: StoredApproval) -> str:
    if stored.consumer is not None:
        return "used"
    return "waiting" if stored.decision is None else "decided"
