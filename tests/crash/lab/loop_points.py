"""Fault points of a loop: places that it passes, counted and listed, at one of which its process is killed or frozen."""

import os
import signal
import threading
from pathlib import Path

from agent_adapter import ApprovalDecision, ApprovalRequest, SQLiteApprovalStore
from agent_adapter.approvals import StoredApproval
from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore

_lock = threading.Lock()
_log: Path | None = None
_at: list[int | str] = []
_signal: signal.Signals = signal.SIGKILL
_count = 0


def arm(log: Path, *at: int | str, sent: signal.Signals = signal.SIGKILL) -> None:
    """List this process's points in `log`, and send it the signal at these numbers or names, one after the other."""
    global _log, _at, _signal, _count
    _log, _at, _signal, _count = log, list(at), sent, 0


def hit(name: str) -> None:
    """Pass a point; the signal is sent under the lock, so that nothing passes another one meanwhile."""
    global _count  # noqa: PLW0603 - one process, one list
    with _lock:
        _count += 1
        if _log is not None:
            with _log.open("a") as file:
                file.write(f"{name}\n")
        if _at and _at[0] in (_count, name):
            # A frozen process that wakes may come by again.
            _at.pop(0)
            os.kill(os.getpid(), _signal)


class PointedStore(SQLiteCheckpointStore):
    """The store of the run, with a point before and after each write, and after whoever takes it over has read it."""

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        found = await super().calls(run_id, segment)
        hit("after read")
        return found

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        hit(f"before save {checkpoint.status}")
        await super().save(run_id, step, checkpoint)
        hit(f"after save {checkpoint.status}")

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        hit(f"before claim {call.tool} {call.state}")
        standing = await super().claim_call(run_id, segment, call, seen, step=step)
        hit(f"after claim {call.tool} {call.state}")
        return standing


class PointedApprovals(SQLiteApprovalStore):
    """The store of requests and decisions, with a point before and after each write."""

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        hit("before park")
        stored = await super().park(request)
        hit("after park")
        return stored

    async def decide(self, request_id: str, decision: ApprovalDecision) -> StoredApproval:
        hit("before decide")
        stored = await super().decide(request_id, decision)
        hit("after decide")
        return stored

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        hit("before consume")
        decision = await super().consume(request_id, consumer)
        hit("after consume")
        return decision
