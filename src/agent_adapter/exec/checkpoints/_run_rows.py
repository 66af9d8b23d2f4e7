"""The statements on the runs of a SQLite store, as functions of a connection that holds a transaction.

Those that write look first and raise before they change anything.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from pydantic import ValidationError

from agent_adapter._sqlite import pack, unpack
from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.exec.checkpoints import _call_rows as call_rows
from agent_adapter.exec.checkpoints import _checks as checks
from agent_adapter.exec.checkpoints._corrupt import corrupt
from agent_adapter.exec.checkpoints._port import Checkpoint, RunInfo, StoredCheckpoint

# A chunk's id is its run's number, moved up by so many bits, plus its place.
_CHUNK_BITS = 32


def save(
    connection: sqlite3.Connection, run_id: str, step: int, checkpoint: Checkpoint, now: float
) -> None:
    """Nothing, once `checkpoint` is the run's position; see `CheckpointStore.save`."""
    row = connection.execute(
        "SELECT run, step, segment, lineage, chunks, kind, name, status"
        " FROM agent_adapter_checkpoints WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    if row is None:
        checks.check_follows(run_id, step, checkpoint, stored=None)
        _insert(connection, run_id, checkpoint, now)
        return
    run, stored_step, segment, lineage, chunks, *described = row
    call_rows.check_numbers(run_id, stored_step, segment, chunks)
    checks.check_follows(run_id, step, checkpoint, stored=(stored_step, segment, lineage, chunks))
    if checkpoint.segment != segment:
        call_rows.drop(connection, run)
    if checkpoint.kept != chunks:
        _drop_chunks(connection, run, from_=checkpoint.kept)
    _add_chunks(connection, run, checkpoint)
    connection.execute(
        "UPDATE agent_adapter_checkpoints"
        " SET step = ?, segment = ?, document = ?, chunks = ?, saved_at = ? WHERE run = ?",
        (
            step,
            checkpoint.segment,
            pack(checkpoint.document),
            checkpoint.kept + len(checkpoint.history),
            now,
            run,
        ),
    )
    description = [checkpoint.kind, checkpoint.name, checkpoint.status]
    if description != described:
        # Named only when they change: the partial indexes are rewritten with them.
        connection.execute(
            "UPDATE agent_adapter_checkpoints SET kind = ?, name = ?, status = ? WHERE run = ?",
            (*description, run),
        )


def latest(connection: sqlite3.Connection, run_id: str) -> StoredCheckpoint | None:
    """The run's latest checkpoint; see `CheckpointStore.latest`."""
    row = connection.execute(
        "SELECT run, step, segment, lineage, chunks, kind, name, status, document"
        " FROM agent_adapter_checkpoints WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    if row is None:
        return None
    run, step, segment, lineage, chunks, kind, name, status, document = row
    call_rows.check_numbers(run_id, step, segment, chunks)
    first = run << _CHUNK_BITS
    history = connection.execute(
        "SELECT id - ?, chunk FROM agent_adapter_history WHERE id >= ? AND id < ? ORDER BY id",
        (first, first, (run + 1) << _CHUNK_BITS),
    ).fetchall()
    if [n for n, _ in history] != list(range(chunks)):
        raise CheckpointStoreCorrupt(
            run_id, f"{len(history)} chunks are stored instead of {chunks}"
        )
    try:
        checkpoint = Checkpoint(
            kind=kind,
            name=name,
            status=status,
            segment=segment,
            document=unpack(run_id, document),
            history=tuple(unpack(run_id, chunk) for _, chunk in history),
            lineage=lineage,
        )
        return StoredCheckpoint(step=step, checkpoint=checkpoint)
    except ValidationError as exc:
        raise corrupt(run_id, exc) from exc


def position(connection: sqlite3.Connection, run_id: str) -> tuple[int, int] | None:
    """The run's step and segment, or None."""
    row = connection.execute(
        "SELECT step, segment FROM agent_adapter_checkpoints WHERE run_id = ?", (run_id,)
    ).fetchone()
    if row is not None:
        call_rows.check_numbers(run_id, *row)
    return row  # type: ignore[no-any-return]


def unfinished(connection: sqlite3.Connection, name: str | None, limit: int) -> list[str]:
    """The ids of the running runs, the one that was saved longest ago first."""
    rows = connection.execute(
        "SELECT run_id FROM agent_adapter_checkpoints WHERE status = 'running'"
        " AND (?1 IS NULL OR name = ?1) ORDER BY saved_at, run LIMIT ?2",
        (name, limit),
    )
    return [run_id for (run_id,) in rows]


def listed(connection: sqlite3.Connection, filters: Sequence[object], limit: int) -> list[RunInfo]:
    """The runs that fit `filters`: name, kind, status, saved before, after this run id."""
    rows = connection.execute(
        "SELECT run_id, name, kind, status, step, segment, saved_at FROM agent_adapter_checkpoints"
        " WHERE run_id > ifnull(?5, '') AND (?1 IS NULL OR name = ?1) AND (?2 IS NULL OR kind = ?2)"
        " AND (?3 IS NULL OR status = ?3) AND (?4 IS NULL OR saved_at < ?4) ORDER BY run_id LIMIT ?6",
        (*filters, limit),
    )
    return [_info(row) for row in rows]


def prune(connection: sqlite3.Connection, last: float, name: str | None, limit: int) -> int:
    """How many ended runs that were saved at `last` or before were deleted, oldest first."""
    rows = connection.execute(
        "SELECT run FROM agent_adapter_checkpoints WHERE status IN ('done', 'denied', 'failed')"
        " AND saved_at <= ?1 AND (?2 IS NULL OR name = ?2) ORDER BY saved_at, run LIMIT ?3",
        (last, name, limit),
    ).fetchall()
    for (run,) in rows:
        _delete(connection, run)
    return len(rows)


def delete(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether anything was stored under the run id; nothing is afterwards."""
    row = connection.execute(
        "SELECT run FROM agent_adapter_checkpoints WHERE run_id = ?", (run_id,)
    ).fetchone()
    if row is not None:
        _delete(connection, row[0])
    return row is not None


def _insert(connection: sqlite3.Connection, run_id: str, new: Checkpoint, now: float) -> None:
    cursor = connection.execute(
        "INSERT INTO agent_adapter_checkpoints"
        " (run_id, lineage, step, segment, kind, name, status, document, chunks, saved_at)"
        " VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",
        (
            run_id,
            new.lineage,
            new.segment,
            new.kind,
            new.name,
            new.status,
            pack(new.document),
            len(new.history),
            now,
        ),
    )
    _add_chunks(connection, cast("int", cursor.lastrowid), new)


def _add_chunks(connection: sqlite3.Connection, run: int, new: Checkpoint) -> None:
    first = (run << _CHUNK_BITS) + new.kept
    connection.executemany(
        "INSERT INTO agent_adapter_history VALUES (?, ?)",
        [(first + n, pack(chunk)) for n, chunk in enumerate(new.history)],
    )


def _drop_chunks(connection: sqlite3.Connection, run: int, *, from_: int) -> None:
    connection.execute(
        "DELETE FROM agent_adapter_history WHERE id >= ? AND id < ?",
        ((run << _CHUNK_BITS) + from_, (run + 1) << _CHUNK_BITS),
    )


def _delete(connection: sqlite3.Connection, run: int) -> None:
    call_rows.drop(connection, run)
    _drop_chunks(connection, run, from_=0)
    connection.execute("DELETE FROM agent_adapter_checkpoints WHERE run = ?", (run,))


def _info(row: Sequence[Any]) -> RunInfo:
    run_id, name, kind, status, step, segment, saved_at = row
    try:
        return RunInfo(
            run_id=run_id,
            name=name,
            kind=kind,
            status=status,
            step=step,
            segment=segment,
            saved_at=saved_at,
        )
    except ValidationError as exc:
        raise corrupt(str(run_id), exc) from exc
