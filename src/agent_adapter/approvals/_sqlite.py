"""ApprovalStore in a SQLite file, which may be the one that holds the runs."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from agent_adapter._default_key import default_key_ring
from agent_adapter._sealing import KeyRing
from agent_adapter._sqlite import checked_path, checked_timeout, database_for, settled_key
from agent_adapter.approvals import _rows as rows
from agent_adapter.approvals import _rules as rules
from agent_adapter.approvals._plain import decision_to_plain, request_to_plain
from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest, now

T = TypeVar("T")


class SQLiteApprovalStore:
    """Requests and decisions kept in the SQLite file `path`, which is created on first use with mode 0600.

    Every thread, event loop and process of one machine may use the file, and `SQLiteCheckpointStore` may keep its runs in
    it. Each row is sealed, so that one that somebody edited is refused before anything in it is used.

    Args:
        path: the file; not `:memory:` and no URI.
        timeout: how many seconds a write waits for another process's lock before `sqlite3.OperationalError`.
        key: the key of the seals, or several: the first one signs, every one verifies. Without it, the environment's
            AGENT_ADAPTER_CHECKPOINT_KEY; without that, the one in `<path>.key`, made on first use.
        clock: the present instant, with a time zone.

    Raises:
        ConfigError: `path` is not the path of a file, `timeout` is not a finite number from 0 on, or a key is too
            short. On first use: the file holds foreign tables of our names or another schema version, cannot do WAL,
            or its key file is missing or was replaced.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = 5.0,
        key: bytes | str | Sequence[bytes | str] | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._database = database_for(
            checked_path(path, in_memory="for approvals in memory use MemoryApprovalStore")
        )
        self._timeout = checked_timeout(timeout)
        self._ring = default_key_ring() if key is None else KeyRing(key)
        self._clock = clock

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        """What stands for this request; see `ApprovalStore.park`.

        Raises:
            ApprovalConflict: the id stands for another tool or other arguments.
            CheckpointStoreCorrupt: what is stored under the id was changed.
            ToolUsageError: a name is empty or no text, a time has no zone, or the request is too large for a store.
            NotSealable: the arguments are not plain JSON.
        """
        rules.check_request(request)
        return await self._write(partial(rows.park, form=request_to_plain(request)))

    async def get(self, request_id: str) -> StoredApproval | None:
        """What is stored under this id, or None; see `ApprovalStore.get`.

        Raises:
            CheckpointStoreCorrupt: it was changed.
            ToolUsageError: the id is empty or no text.
        """
        rules.check_name("request_id", request_id)
        return await self._read(partial(rows.load, request_id=request_id))

    async def decide(self, request_id: str, decision: ApprovalDecision) -> StoredApproval:
        """Store the decision; see `ApprovalStore.decide`.

        Raises:
            ToolUsageError: no such request, a time without a zone, or the decision is too large for a store.
            ApprovalConflict: it was decided differently, or it has expired.
            CheckpointStoreCorrupt: the request was changed.
            NotSealable: the edits hold a value that would not come back as it is.
        """
        rules.check_name("request_id", request_id)
        form = decision_to_plain(decision)
        return await self._write(
            partial(rows.decide, request_id=request_id, form=form, clock=self._clock)
        )

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        """The decision, for this consumer alone; see `ApprovalStore.consume`.

        Raises:
            ToolUsageError: no such request.
            ApprovalConflict: it is undecided, or another consumer used the decision.
            CheckpointStoreCorrupt: the request or its decision was changed.
        """
        rules.check_name("request_id", request_id)
        rules.check_name("consumer", consumer)
        return await self._write(partial(rows.consume, request_id=request_id, consumer=consumer))

    async def list_pending(self) -> list[ApprovalRequest]:
        """Every request that can still be decided, in the order in which they were parked.

        Raises:
            CheckpointStoreCorrupt: one of them was changed.
        """
        waiting = await self._read(rows.waiting)
        at = self._clock()
        return [request for request in waiting if not rules.has_expired(request, at)]

    async def _write(self, operation: Callable[[sqlite3.Connection, KeyRing], T]) -> T:
        def job(connection: sqlite3.Connection) -> tuple[T, KeyRing]:
            ring = self._ring or KeyRing(settled_key(connection, self._database.path))
            return operation(connection, ring), ring

        # Kept only once it is committed that the file is bound to this key.
        value, self._ring = await self._database.writer.run(job, timeout_s=self._timeout)
        return value

    async def _read(self, read: Callable[[sqlite3.Connection, KeyRing], T]) -> T:
        ring = self._ring
        if ring is None or not self._database.is_open:
            ring = await self._write(lambda _, ring: ring)
        return await self._database.readers.run(
            lambda connection: read(connection, ring), timeout_s=self._timeout
        )
