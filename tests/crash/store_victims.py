"""Forks processes that write to a SQLite store, kills them, and says what the files hold afterwards.

One script for many victims: a fork costs less than a start, and the parent's own store must survive the forks too.
"""

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.testing.stores import checkpoint, record

STEPS = 200


def fork(work: Coroutine[Any, Any, None]) -> int:
    pid = os.fork()
    if pid == 0:
        asyncio.run(work)
        os._exit(0)
    work.close()
    return pid


async def found(path: Path) -> dict[str, Any]:
    """The run in the file: its step, segment, head and history, and the logs of its segment and the two beside it."""
    store = SQLiteCheckpointStore(path)
    latest = await store.latest("run")
    if latest is None:
        return {"step": -1}
    head = latest.checkpoint
    logs = [
        [call.document for call in await store.calls("run", segment)]
        for segment in (max(head.segment - 1, 0), head.segment, head.segment + 1)
    ]
    return {"step": latest.step, "head": head.document, "history": head.history, "logs": logs}


def at_random(directory: Path, count: int) -> list[Any]:
    """Victims that move a run on by 200 steps, killed after a random time; with each, how many saves it was told of."""

    async def move(path: Path, told: int) -> None:
        store = SQLiteCheckpointStore(path)
        for step in range(STEPS):
            position = checkpoint(f"{step}", segment=step, history=(f"{step}",), kept=step)
            await asyncio.gather(
                store.save("run", step, position),
                store.claim_call("run", step, record(document=f"{step}"), None, step=step),
            )
            os.write(told, b".")

    chance = random.Random(20)  # noqa: S311
    said = []
    for victim in range(count):
        path = directory / f"random-{victim}.db"
        heard, told = os.pipe()
        pid = fork(move(path, told))
        os.close(told)
        answered = 0
        for _ in range(chance.randrange(STEPS)):
            answered += len(os.read(heard, 1))
        for _ in range(chance.randrange(20_000)):
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        while more := os.read(heard, 4096):
            answered += len(more)
        os.close(heard)
        integrity = (
            sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()[0]
            if path.exists()
            else "ok"
        )
        said.append([answered, integrity, asyncio.run(found(path))])
    return said


def before_each_statement(directory: Path) -> list[Any]:
    """Victims that move a run to a new segment, killed before the first, second, … statement, the last not at all."""

    async def prepare(store: SQLiteCheckpointStore) -> None:
        await store.save("run", 0, checkpoint("old", segment=1, history=("a", "b")))
        for key in "xy":
            await store.claim_call("run", 1, record(key, document="old"), None)

    async def move(path: Path, arm: Callable[[], None]) -> None:
        store = SQLiteCheckpointStore(path)
        await prepare(store)
        arm()
        await store.save("run", 1, checkpoint("new", segment=2, history=("c",), status="paused"))

    said = []
    status = -1
    while status != 0:
        left = len(said) + 1
        path = directory / f"statement-{left}.db"
        pid = fork(move(path, lambda fuse=left: set_fuse(fuse)))
        status = os.waitpid(pid, 0)[1]
        said.append([status, asyncio.run(found(path))])
    return said


def set_fuse(statements: int) -> None:
    """Kill this process before the writer's `statements`-th statement from now on."""
    left = [statements]

    def burn() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Dying.burn = staticmethod(burn)


class Dying(sqlite3.Connection):
    """A connection that tells of every statement before it runs."""

    burn: Callable[[], None] = staticmethod(lambda: None)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        type(self).burn()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        type(self).burn()
        return super().executemany(*arguments)


def main() -> None:
    connect = sqlite3.connect
    sqlite3.connect = lambda *arguments, **settings: connect(*arguments, factory=Dying, **settings)  # type: ignore[assignment]
    directory = Path(sys.argv[2])
    random_kills = sys.argv[1] == "random"
    said = (
        at_random(directory, int(sys.argv[3])) if random_kills else before_each_statement(directory)
    )
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
