"""The statements on the call records of a SQLite store; as `_run_rows`, they look before they write."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from agent_adapter._sqlite import pack, unpack
from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.exec.checkpoints import _checks as checks
from agent_adapter.exec.checkpoints._corrupt import corrupt
from agent_adapter.exec.checkpoints._port import CallRecord


def claim_call(
    connection: sqlite3.Connection,
    run_id: str,
    segment: int,
    call: CallRecord,
    seen: CallRecord | None,
    *,
    step: int | None,
) -> CallRecord:
    """The record that stands afterwards; see `CallClaims.claim_call`."""
    run, record, standing = _current(connection, run_id, segment, call.key, step)
    if not checks.may_claim(run_id, call, seen, standing=standing):
        return standing or call
    _write(connection, run, record, call)
    return call


def record_call(
    connection: sqlite3.Connection, run_id: str, segment: int, call: CallRecord
) -> None:
    """Nothing, once `call` is stored; see `CheckpointStore.record_call`."""
    run, record, _ = _current(connection, run_id, segment, call.key, None, read=False)
    _write(connection, run, record, call)


def calls(connection: sqlite3.Connection, run_id: str, segment: int) -> list[CallRecord]:
    """The segment's records in the order first written; see `CheckpointStore.calls`."""
    rows = connection.execute(
        "SELECT c.key, r.tool, r.state, r.document, r.id FROM agent_adapter_checkpoints AS p"
        " JOIN agent_adapter_calls AS c ON c.run = p.run"
        " LEFT JOIN agent_adapter_records AS r ON r.id = c.record"
        " WHERE p.run_id = ? AND p.segment = ? ORDER BY c.record",
        (run_id, segment),
    )
    return [_record(run_id, key, row) for key, *row in rows]


def find(
    connection: sqlite3.Connection, run_id: str, key: str
) -> tuple[int, CallRecord | None] | None:
    """The run's segment and the record under the key; see `CallLookup.find_call`."""
    row = _row(connection, run_id, key)
    if row is None:
        return None
    check_numbers(run_id, row[1], row[2])
    return row[2], None if row[3] is None else _record(run_id, key, row[4:])


def drop(connection: sqlite3.Connection, run: int) -> None:
    """Nothing, once the run has no call log."""
    connection.execute(
        "DELETE FROM agent_adapter_records WHERE id IN"
        " (SELECT record FROM agent_adapter_calls WHERE run = ?)",
        (run,),
    )
    connection.execute("DELETE FROM agent_adapter_calls WHERE run = ?", (run,))


def check_numbers(run_id: str, *numbers: object) -> None:
    """Nothing, when a run's row holds numbers where they belong.

    Raises:
        CheckpointStoreCorrupt: it does not.
    """
    for number in numbers:
        if type(number) is not int or number < 0:
            raise CheckpointStoreCorrupt(run_id, f"stored numbers are none: {numbers}")


def _current(
    connection: sqlite3.Connection,
    run_id: str,
    segment: int,
    key: str,
    step: int | None,
    *,
    read: bool = True,
) -> tuple[int, int | None, CallRecord | None]:
    """The run's number, the number of the key's record and, if it is to be read, the record."""
    row = _row(connection, run_id, key)
    if row is not None:
        check_numbers(run_id, row[1], row[2])
    checks.check_current(run_id, segment, step, stored=row and (row[1], row[2]))
    standing = _record(run_id, key, row[4:]) if read and row[3] is not None else None
    return row[0], row[3], standing


def _row(connection: sqlite3.Connection, run_id: str, key: str) -> Any:
    """The run's numbers and the record under the key, in one row; None for an unknown run."""
    return connection.execute(
        "SELECT p.run, p.step, p.segment, c.record, r.tool, r.state, r.document, r.id"
        " FROM agent_adapter_checkpoints AS p"
        " LEFT JOIN agent_adapter_calls AS c ON c.run = p.run AND c.key = ?2"
        " LEFT JOIN agent_adapter_records AS r ON r.id = c.record WHERE p.run_id = ?1",
        (run_id, key),
    ).fetchone()


def _write(connection: sqlite3.Connection, run: int, record: int | None, call: CallRecord) -> None:
    document = None if call.document is None else pack(call.document)
    if record is not None:
        connection.execute(
            "UPDATE agent_adapter_records SET tool = ?, state = ?, document = ? WHERE id = ?",
            (call.tool, call.state, document, record),
        )
        return
    record = connection.execute(
        "INSERT INTO agent_adapter_records (tool, state, document) VALUES (?, ?, ?)",
        (call.tool, call.state, document),
    ).lastrowid
    connection.execute("INSERT INTO agent_adapter_calls VALUES (?, ?, ?)", (run, call.key, record))


def _record(run_id: str, key: str, row: Sequence[Any]) -> CallRecord:
    tool, state, document, record = row
    if record is None:
        raise CheckpointStoreCorrupt(run_id, f"the record of call {key!r} is missing")
    text = None if document is None else unpack(run_id, document)
    try:
        return CallRecord(key=key, tool=tool, state=state, document=text)
    except ValidationError as exc:
        raise corrupt(run_id, exc) from exc
