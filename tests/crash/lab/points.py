"""Fault points: places that a run passes, counted and listed, at one of which the process is killed."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent_adapter.exec.checkpoints import CallRecord, SQLiteCheckpointStore
from agent_adapter.exec.checkpoints import Checkpoint as Position

_lock = threading.Lock()
_log: Path | None = None
_kill_at: int | str = 0
_count = 0


def arm(log: Path, kill_at: int | str) -> None:
    """List this process's points in `log`, and kill it at number or name `kill_at`; 0 spares it."""
    global _log, _kill_at, _count
    _log, _kill_at, _count = log, kill_at, 0


def hit(name: str) -> None:
    """Pass a point; the kill happens under the lock, so that nothing passes another one meanwhile."""
    global _count  # noqa: PLW0603 - one process, one list
    with _lock:
        _count += 1
        if _log is not None:
            with _log.open("a") as file:
                file.write(f"{name}\n")
        if _kill_at in (_count, name):
            os.kill(os.getpid(), signal.SIGKILL)


class PointedStore(SQLiteCheckpointStore):
    """The store of the records, with a point before and after each write."""

    async def save(self, run_id: str, step: int, checkpoint: Position) -> None:
        hit("before store.save")
        await super().save(run_id, step, checkpoint)
        hit("after store.save")

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        name = f"store.claim_call {call.tool} {call.state}"
        hit(f"before {name}")
        standing = await super().claim_call(run_id, segment, call, seen, step=step)
        hit(f"after {name}")
        return standing


class PointedSaver(SqliteSaver):
    """LangGraph's checkpointer, with a point before and after each write; `slow_s` is how far away its database is."""

    slow_s = 0.0

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        hit("before saver.put")
        time.sleep(self.slow_s)
        stored = super().put(config, checkpoint, metadata, new_versions)
        hit("after saver.put")
        return stored

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        hit("before saver.put_writes")
        super().put_writes(config, writes, task_id, task_path)
        hit("after saver.put_writes")


class AsyncPointedSaver(AsyncSqliteSaver):
    """As `PointedSaver`, async."""

    slow_s = 0.0

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        hit("before saver.put")
        await asyncio.sleep(self.slow_s)
        stored = await super().aput(config, checkpoint, metadata, new_versions)
        hit("after saver.put")
        return stored

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        hit("before saver.put_writes")
        await super().aput_writes(config, writes, task_id, task_path)
        hit("after saver.put_writes")
