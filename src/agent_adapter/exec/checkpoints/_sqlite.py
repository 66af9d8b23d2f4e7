"""CheckpointStore in a SQLite file, shared by every thread, event loop and process of one machine."""

import os
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from agent_adapter._sqlite import checked_path, checked_timeout, database_for, settled_key
from agent_adapter.exec.checkpoints import _call_rows as call_rows
from agent_adapter.exec.checkpoints import _checks as checks
from agent_adapter.exec.checkpoints import _run_rows as run_rows
from agent_adapter.exec.checkpoints._owners import LiveFile
from agent_adapter.exec.checkpoints._port import (
    CallRecord,
    Checkpoint,
    CheckpointKind,
    CheckpointStatus,
    OwnerState,
    RunInfo,
    StoredCheckpoint,
)

T = TypeVar("T")

# Each slice is a transaction of its own, so that clearing away many runs lets others in between.
PRUNED_AT_ONCE = 20


class SQLiteCheckpointStore:
    """Runs kept in the SQLite file `path`, which is created on first use with mode 0600.

    Beside it lie SQLite's own `-wal` and `-shm`, `<path>.key` with the sealing key, and the empty `<path>.live`, in
    which every process locks a byte while it lives. A call that was submitted before its task was cancelled either is
    withdrawn or ends first.

    Args:
        path: the file; not `:memory:` and no URI.
        timeout: how many seconds a write waits for another process's lock before `sqlite3.OperationalError`.
        clock: the time of a save, in epoch seconds.

    Raises:
        ConfigError: `path` is not the path of a file, or `timeout` is not a finite number from 0 on. On first use:
            the file holds foreign tables of our names or another schema version, or cannot do WAL.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database_for(
            checked_path(path, in_memory="for runs in memory use MemoryCheckpointStore")
        )
        self._timeout = checked_timeout(timeout)
        self._live = LiveFile(f"{self._database.path}.live")
        self._clock = clock

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        """The run's new position, stored if `step` is the next one; see `CheckpointStore.save`."""
        checks.check_run_id(run_id)
        checks.check_number("step", step)
        size = checks.check_checkpoint(checkpoint, step=step)
        await self._write(
            lambda connection: run_rows.save(connection, run_id, step, checkpoint, self._clock()),
            size,
        )

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        """The run's latest checkpoint, or None when nothing is stored."""
        checks.check_run_id(run_id)
        return await self._read(lambda connection: run_rows.latest(connection, run_id))

    async def position(self, run_id: str) -> tuple[int, int] | None:
        """The run's step and segment, or None when nothing is stored."""
        checks.check_run_id(run_id)
        return await self._read(lambda connection: run_rows.position(connection, run_id))

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        """The record stored under `call.key`, whatever stood there; see `CheckpointStore.record_call`."""
        checks.check_run_id(run_id)
        checks.check_number("segment", segment)
        size = checks.check_record(call)
        await self._write(
            lambda connection: call_rows.record_call(connection, run_id, segment, call), size
        )

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        """The record that stands under `call.key` afterwards; see `CallClaims.claim_call`."""
        checks.check_run_id(run_id)
        checks.check_number("segment", segment)
        if step is not None:
            checks.check_number("step", step)
        size = checks.check_record(call, seen)
        return await self._write(
            lambda connection: call_rows.claim_call(
                connection, run_id, segment, call, seen, step=step
            ),
            size,
        )

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        """The segment's records in the order in which their keys were first written."""
        checks.check_run_id(run_id)
        checks.check_number("segment", segment)
        return await self._read(lambda connection: call_rows.calls(connection, run_id, segment))

    async def find_call(self, run_id: str, key: str) -> tuple[int, CallRecord | None] | None:
        """The run's segment and the record under the key; see `CallLookup.find_call`."""
        checks.check_run_id(run_id)
        checks.check_key(key)
        return await self._read(lambda connection: call_rows.find(connection, run_id, key))

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        """The ids of the runs that are `running`, the one that was saved longest ago first."""
        checks.check_limit(limit)
        checks.check_filters(name=name)
        return await self._read(lambda connection: run_rows.unfinished(connection, name, limit))

    async def delete(self, run_id: str) -> bool:
        """Whether anything was stored; afterwards nothing is."""
        checks.check_run_id(run_id)
        return await self._write(lambda connection: run_rows.delete(connection, run_id))

    async def list_runs(
        self,
        *,
        name: str | None = None,
        kind: CheckpointKind | None = None,
        status: CheckpointStatus | None = None,
        saved_before: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """The runs that fit every filter, ordered by run id; see `RunListing.list_runs`."""
        checks.check_limit(limit)
        checks.check_filters(
            name=name, kind=kind, status=status, saved_before=saved_before, after=after
        )
        return await self._read(
            lambda connection: run_rows.listed(
                connection, (name, kind, status, saved_before, after), limit
            )
        )

    async def prune(
        self, older_than_s: float, *, name: str | None = None, limit: int = 1000
    ) -> int:
        """How many ended runs were deleted, oldest first; see `RunListing.prune`."""
        checks.check_age(older_than_s)
        checks.check_limit(limit)
        checks.check_filters(name=name)
        last = self._clock() - older_than_s
        pruned = 0
        while pruned < limit:
            at_once = min(PRUNED_AT_ONCE, limit - pruned)
            gone = await self._write(partial(run_rows.prune, last=last, name=name, limit=at_once))
            pruned += gone
            if gone < at_once:
                break
        return pruned

    def embedded_key(self) -> bytes:
        """The key in `<path>.key`, made on first use; blocks. See `EmbeddedKey.embedded_key`."""
        return self._database.writer.run_blocking(
            lambda connection: settled_key(connection, self._database.path), timeout_s=self._timeout
        )

    def owner(self) -> str:
        """The token that names this process; a byte of `<path>.live` is locked while it lives."""
        return self._live.owner()

    def liveness(self, owner: str) -> OwnerState:
        """Whether the owner lives; "dead" only when its byte is free on this host, in this boot. Never raises."""
        return self._live.liveness(owner)

    async def _write(self, operation: Callable[[sqlite3.Connection], T], size: int = 0) -> T:
        return await self._database.writer.run(operation, timeout_s=self._timeout, size=size)

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        if not self._database.is_open:
            await self._write(lambda _: None)
        return await self._database.readers.run(read, timeout_s=self._timeout)
