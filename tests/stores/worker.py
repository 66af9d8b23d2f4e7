"""A process of its own that uses one SQLite file; the tests start it with a task's name and its arguments."""

import asyncio
import json
import os
import sqlite3
import sys
import threading
from pathlib import Path

from agent_adapter.errors import CheckpointConflict, ConfigError
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.testing.stores import checkpoint


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def wait() -> None:
    sys.stdin.readline()


def race(path: str, name: str, runs: str) -> None:
    """Try to start every run and to take its second step; say how often this process was first, and every error."""

    async def one(store: SQLiteCheckpointStore, run_id: str) -> list[bool]:
        won = []
        for step in (0, 1):
            try:
                await store.save(run_id, step, checkpoint(name))
                won.append(True)
            except CheckpointConflict:
                won.append(False)
        return won

    async def all_of_them() -> list[list[bool]]:
        store = SQLiteCheckpointStore(path)
        return await asyncio.gather(*(one(store, f"run-{n}") for n in range(int(runs))))

    say("ready")
    wait()
    say(asyncio.run(all_of_them()))


def hold(path: str) -> None:
    """Hold the file's write lock until told to go."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    say("held")
    wait()
    connection.execute("ROLLBACK")
    say("free")


def key(path: str) -> None:
    """Say the embedded key of the file's store."""
    say("ready")
    wait()
    try:
        say(SQLiteCheckpointStore(path).embedded_key().decode())
    except ConfigError as exc:
        say({"refused": str(exc)})


def owner(path: str) -> None:
    """Say this process's token and stay."""
    say(SQLiteCheckpointStore(path).owner())
    wait()


def fork_owner(path: str) -> None:
    """Say this process's token, then a forked child's and what each makes of the other; the child stays."""
    store = SQLiteCheckpointStore(path)
    mine = store.owner()
    say(mine)
    if os.fork() == 0:
        say([store.owner(), store.liveness(mine)])
        wait()
        os._exit(0)
    os.wait()


def fork_load(path: str, children: str) -> None:
    """Save from this process and from forked children, under load; say how many runs are stored and if all is well."""

    async def save_many(name: str, count: int) -> None:
        store = SQLiteCheckpointStore(path)
        await asyncio.gather(*(store.save(f"{name}-{n}", 0, checkpoint()) for n in range(count)))

    async def parent() -> list[int]:
        load = asyncio.create_task(save_many("parent", 400))
        pids = []
        for child in range(int(children)):
            await asyncio.sleep(0)
            pid = os.fork()
            if pid == 0:
                # The parent's loop is not to be used here; to the child it looks as if it ran.
                asyncio._set_running_loop(None)
                asyncio.run(save_many(f"child-{child}", 20))
                os._exit(0)
            pids.append(pid)
        await load
        return pids

    for pid in asyncio.run(parent()):
        assert os.waitpid(pid, 0)[1] == 0
    check = sqlite3.connect(path)
    stored = check.execute("SELECT count(*) FROM agent_adapter_checkpoints").fetchone()[0]
    say([stored, check.execute("PRAGMA integrity_check").fetchone()[0]])


def leave(path: str) -> None:
    """Submit saves from busy threads and end without waiting for all of them; say which ones were answered."""
    answered: list[str] = []
    enough = threading.Event()

    def busy(name: int) -> None:
        async def save() -> None:
            store = SQLiteCheckpointStore(path)
            for n in range(10_000):
                await store.save(f"{name}-{n}", 0, checkpoint())
                answered.append(f"{name}-{n}")
                if len(answered) > 300:
                    enough.set()

        asyncio.run(save())

    for name in range(20):
        threading.Thread(target=busy, args=(name,), daemon=True).start()
    enough.wait()
    say(list(answered))


if __name__ == "__main__":
    if sys.argv[1] not in {
        "race",
        "hold",
        "key",
        "owner",
        "fork_owner",
        "fork_load",
        "leave",
        "steps",
    }:
        sys.exit(f"{Path(__file__).name}: no task {sys.argv[1]!r}")
    globals()[sys.argv[1]](*sys.argv[2:])
