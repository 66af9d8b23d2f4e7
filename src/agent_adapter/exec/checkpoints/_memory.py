"""CheckpointStore in a dict: survives a failed run, not the end of the process."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_adapter.exec.checkpoints import _checks as checks
from agent_adapter.exec.checkpoints._owners import process_token
from agent_adapter.exec.checkpoints._port import (
    CallRecord,
    Checkpoint,
    CheckpointKind,
    CheckpointStatus,
    OwnerState,
    RunInfo,
    StoredCheckpoint,
)

ENDED = ("done", "denied", "failed")


@dataclass
class _Run:
    step: int
    head: Checkpoint
    chunks: list[str]
    saved_at: float
    order: int
    calls: dict[str, CallRecord] = field(default_factory=dict)

    @property
    def position(self) -> tuple[int, int]:
        return self.step, self.head.segment


class MemoryCheckpointStore:
    """Runs kept in this process, shared by all of its threads and event loops.

    Args:
        clock: the time of a save, in epoch seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._token = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._saves = 0

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        """The run's new position, stored if `step` is the next one; see `CheckpointStore.save`."""
        checks.check_run_id(run_id)
        checks.check_number("step", step)
        checks.check_checkpoint(checkpoint, step=step)
        head = checkpoint.model_copy(update={"history": (), "kept": 0})
        with self._lock:
            run = self._runs.get(run_id)
            known = None if run is None else (*run.position, run.head.lineage, len(run.chunks))
            checks.check_follows(run_id, step, checkpoint, stored=known)
            self._saves += 1
            if run is None:
                chunks = list(checkpoint.history)
                self._runs[run_id] = _Run(step, head, chunks, self._clock(), self._saves)
                return
            if head.segment != run.head.segment:
                run.calls.clear()
            run.chunks[checkpoint.kept :] = checkpoint.history
            run.step, run.head, run.saved_at, run.order = step, head, self._clock(), self._saves

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        """The run's latest checkpoint, or None when nothing is stored."""
        checks.check_run_id(run_id)
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return None
            checkpoint = run.head.model_copy(update={"history": tuple(run.chunks)})
            return StoredCheckpoint(step=run.step, checkpoint=checkpoint)

    async def position(self, run_id: str) -> tuple[int, int] | None:
        """The run's step and segment, or None when nothing is stored."""
        checks.check_run_id(run_id)
        with self._lock:
            run = self._runs.get(run_id)
            return None if run is None else run.position

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        """The record stored under `call.key`, whatever stood there; see `CheckpointStore.record_call`."""
        checks.check_run_id(run_id)
        checks.check_number("segment", segment)
        checks.check_record(call)
        with self._lock:
            self._current(run_id, segment)[call.key] = call.model_copy()

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
        checks.check_record(call, seen)
        with self._lock:
            calls = self._current(run_id, segment, step)
            standing = calls.get(call.key)
            if checks.may_claim(run_id, call, seen, standing=standing):
                calls[call.key] = call.model_copy()
            return calls[call.key].model_copy()

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        """The segment's records in the order in which their keys were first written."""
        checks.check_run_id(run_id)
        checks.check_number("segment", segment)
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.head.segment != segment:
                return []
            return [record.model_copy() for record in run.calls.values()]

    async def find_call(self, run_id: str, key: str) -> tuple[int, CallRecord | None] | None:
        """The run's segment and the record under the key; see `CallLookup.find_call`."""
        checks.check_run_id(run_id)
        checks.check_key(key)
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return None
            record = run.calls.get(key)
            return run.head.segment, None if record is None else record.model_copy()

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        """The ids of the runs that are `running`, the one that was saved longest ago first."""
        checks.check_limit(limit)
        checks.check_filters(name=name)
        with self._lock:
            found = [
                (run.saved_at, run.order, run_id)
                for run_id, run in self._runs.items()
                if run.head.status == "running" and name in (None, run.head.name)
            ]
        return [run_id for _, _, run_id in sorted(found)[:limit]]

    async def delete(self, run_id: str) -> bool:
        """Whether anything was stored; afterwards nothing is."""
        checks.check_run_id(run_id)
        with self._lock:
            return self._runs.pop(run_id, None) is not None

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
        with self._lock:
            found = [
                _info(run_id, run)
                for run_id, run in self._runs.items()
                if name in (None, run.head.name)
                and kind in (None, run.head.kind)
                and status in (None, run.head.status)
                and (saved_before is None or run.saved_at < saved_before)
                and (after is None or run_id > after)
            ]
        return sorted(found, key=lambda info: info.run_id)[:limit]

    async def prune(
        self, older_than_s: float, *, name: str | None = None, limit: int = 1000
    ) -> int:
        """How many ended runs were deleted, oldest first; see `RunListing.prune`."""
        checks.check_age(older_than_s)
        checks.check_limit(limit)
        checks.check_filters(name=name)
        with self._lock:
            last = self._clock() - older_than_s
            found = sorted(
                (run.saved_at, run_id)
                for run_id, run in self._runs.items()
                if run.head.status in ENDED
                and run.saved_at <= last
                and name in (None, run.head.name)
            )[:limit]
            for _, run_id in found:
                del self._runs[run_id]
        return len(found)

    def embedded_key(self) -> bytes:
        """32 random bytes, made with this store and gone with it."""
        return self._key

    def owner(self) -> str:
        """The token that names this process, and this store: others have calls of the same names."""
        return f"{process_token()}#{self._token}"

    def liveness(self, owner: str) -> OwnerState:
        """`"alive"` for this process; nothing is known about another one."""
        return "alive" if owner == self.owner() else "unknown"

    def _current(self, run_id: str, segment: int, step: int | None = None) -> dict[str, CallRecord]:
        run = self._runs.get(run_id)
        checks.check_current(run_id, segment, step, stored=None if run is None else run.position)
        return {} if run is None else run.calls


def _info(run_id: str, run: _Run) -> RunInfo:
    return RunInfo(
        run_id=run_id,
        name=run.head.name,
        kind=run.head.kind,
        status=run.head.status,
        step=run.step,
        segment=run.head.segment,
        saved_at=run.saved_at,
    )
