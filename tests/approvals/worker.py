"""A process of its own that uses one file of approvals; the tests start it with a task's name and its arguments."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agent_adapter.approvals import ApprovalDecision, SQLiteApprovalStore, StoredApproval
from agent_adapter.errors import ApprovalConflict
from agent_adapter.testing.approvals import approval_request

YES = ApprovalDecision(approved=True, edits={"amount": 3}, decided_by="ann", reason="is fine")


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def race(path: str, name: str, requests: str) -> None:
    """Park, decide and use every request when told to go; say which decisions and uses were this process's."""

    async def one(store: SQLiteApprovalStore, request_id: str) -> list[bool]:
        won = []
        await store.park(approval_request(request_id))
        mine = ApprovalDecision(approved=name == "a", decided_by=name)
        for doing in (store.decide(request_id, mine), store.consume(request_id, f"call of {name}")):
            try:
                await doing
                won.append(True)
            except ApprovalConflict:
                won.append(False)
        return won

    async def all_of_them() -> list[list[bool]]:
        store = SQLiteApprovalStore(path)
        return await asyncio.gather(*(one(store, f"r{n}") for n in range(int(requests))))

    say("ready")
    sys.stdin.readline()
    say(asyncio.run(all_of_them()))


def show(path: str, request_id: str) -> None:
    """Say what the file holds under the id."""
    stored = asyncio.run(SQLiteApprovalStore(path).get(request_id))
    assert stored is not None
    decision = stored.decision
    times = [stored.request.created_at, stored.request.expires_at, decision and decision.decided_at]
    say([repr(stored), [repr(time) for time in times]])


def answer_and_die(path: str) -> None:
    """Say "decided" once a decision is stored, and "used" once it was consumed; killed right after the last word."""

    async def answer() -> None:
        store = SQLiteApprovalStore(path)
        await store.decide("r1", YES)
        say("decided")
        await store.consume("r1", "call a")
        say("used")
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(answer())


def die_at_each_statement(directory: str, task: str) -> None:
    """Say what is found after victims that were killed before the first, second, … statement of the task, the last not."""
    before, act = TASKS[task]
    said = []
    status = -1
    while status != 0:
        path = Path(directory) / f"{task}-{len(said)}.db"
        store = SQLiteApprovalStore(path)
        pid = fork(victim(store, before, act, len(said) + 1))
        status = os.waitpid(pid, 0)[1]
        said.append([status, asyncio.run(found(path, act))])
    say(said)


async def victim(store: SQLiteApprovalStore, before: list[Any], act: Any, fuse: int) -> None:
    for prepare in before:
        await prepare(store)
    Dying.left = fuse
    await act(store)


async def found(path: Path, act: Any) -> list[Any]:
    """What the file holds, what it holds once the task was done again, and whether the file is whole."""
    check = sqlite3.connect(path)
    whole = check.execute("PRAGMA integrity_check").fetchone()[0]
    check.close()
    store = SQLiteApprovalStore(path)
    left = summary(await store.get("r1"))
    await act(store)
    return [left, summary(await store.get("r1")), whole]


def summary(stored: StoredApproval | None) -> list[Any] | None:
    if stored is None:
        return None
    return [stored.request.arguments, stored.decision and stored.decision.edits, stored.consumer]


def fork(work: Coroutine[Any, Any, None]) -> int:
    pid = os.fork()
    if pid == 0:
        asyncio.run(work)
        os._exit(0)
    work.close()
    return pid


class Dying(sqlite3.Connection):
    """A connection whose process is killed before the statement at which nothing is left."""

    left = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        Dying.left -= 1
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)


async def park(store: SQLiteApprovalStore) -> None:
    await store.park(approval_request())


async def decide(store: SQLiteApprovalStore) -> None:
    await store.decide("r1", YES)


async def consume(store: SQLiteApprovalStore) -> None:
    await store.consume("r1", "call a")


TASKS: dict[str, tuple[list[Any], Any]] = {
    "park": ([], park),
    "decide": ([park], decide),
    "consume": ([park, decide], consume),
}

if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {
        task.__name__: task for task in (race, show, answer_and_die, die_at_each_statement)
    }
    if sys.argv[1] == "die_at_each_statement":
        connect = sqlite3.connect
        sqlite3.connect = lambda *arguments, **settings: connect(  # type: ignore[assignment]
            *arguments, factory=Dying, **settings
        )
    tasks[sys.argv[1]](*sys.argv[2:])
