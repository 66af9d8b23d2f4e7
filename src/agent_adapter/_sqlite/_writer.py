"""One thread per database file that commits everything that waits in one transaction.

Order of a turn: take the file's write lock, then the jobs that have come up to then, run them, COMMIT, and only then
tell anybody. There is no timer: a batch is what arrived during the commit before. An operation looks before it writes
and refuses with an `AgentAdapterError`, which leaves the batch as it is. After any other error the whole batch is
rolled back and each of its jobs runs again in a transaction of its own, so that only the one at fault fails.
"""

import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from agent_adapter._sqlite._jobs import (
    AsyncJob,
    BlockingJob,
    Job,
    Outcome,
    deliver,
)
from agent_adapter.errors import AgentAdapterError

T = TypeVar("T")

# A thread and its connection rest after this time without work; an open connection makes commits cheaper.
IDLE_S = 30.0
SHORTEST_RETRY_S = 0.0005
LONGEST_RETRY_S = 0.01
LARGEST_BATCH_BYTES = 8 * 1024 * 1024
# How long the end of the process waits for what was submitted before it.
DRAIN_S = 10.0

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


class Writer:
    """The only writer of this process on one file.

    Args:
        connect: a ready connection, or the reason why there is none.
        check: raises when the connection's file is no longer the one at its path.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], check: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._check = check
        self._reset()

    def _reset(self) -> None:
        # Lock order: _busy (a turn, or a fork) before _waiting (the queue).
        self._busy = threading.Lock()
        self._waiting = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        # While closing: how many of the jobs in the queue are still to run.
        self._left: int | None = None

    async def run(
        self, operation: Callable[[sqlite3.Connection], T], *, timeout_s: float, size: int = 0
    ) -> T:
        """What `operation` returned, once it is committed.

        Raises:
            sqlite3.OperationalError: another process held the write lock for `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        job = AsyncJob(operation, deadline=deadline, size=size, lock=self._waiting)
        self._put(job)
        outcome: T = await job
        return outcome

    def run_blocking(self, operation: Callable[[sqlite3.Connection], T], *, timeout_s: float) -> T:
        """The same for a caller outside of any event loop."""
        job = BlockingJob(operation, deadline=time.monotonic() + timeout_s)
        self._put(job)
        outcome: T = job.result()
        return outcome

    def close(self) -> None:
        """Nothing, once everything that was submitted before is committed and the connection is closed."""
        with self._waiting:
            thread = self._thread
            if thread is not None:
                self._left = len(self._jobs)
            self._waiting.notify()
        if thread is not None:
            thread.join(DRAIN_S)

    def before_fork(self) -> None:
        """Nothing, once no turn is under way and no connection is open: SQLite's must not cross a fork."""
        self._busy.acquire()
        self._drop()
        self._waiting.acquire()

    def after_fork_in_parent(self) -> None:
        """Nothing, once the thread may go on."""
        self._waiting.release()
        self._busy.release()

    def after_fork_in_child(self) -> None:
        """Nothing, once the writer is as new: its thread and its jobs are the parent's."""
        self._reset()

    def _put(self, job: Job) -> None:
        with self._waiting:
            self._jobs.append(job)
            if self._thread is None:
                self._start()
            else:
                self._waiting.notify()

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name="agent-adapter-store", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._jobs.pop()
            raise
        self._thread = thread

    def _serve(self) -> None:
        while self._has_work():
            if not self._turn():
                time.sleep(random.uniform(SHORTEST_RETRY_S, LONGEST_RETRY_S))  # noqa: S311

    def _has_work(self) -> bool:
        with self._waiting:
            if not self._jobs and self._left is None:
                self._waiting.wait(IDLE_S)
            if self._jobs and self._left != 0:
                return True
        with self._busy, self._waiting:
            if self._jobs and self._left != 0:
                return True
            self._drop()
            self._thread = self._left = None
            return False

    def _turn(self) -> bool:
        """Whether the write lock was free; if not, only those whose time is over have an outcome."""
        with self._busy:
            try:
                connection = self._begin()
            except Exception as exc:  # noqa: BLE001 - it is the outcome of those who wait
                busy = is_busy(exc)
                ended = self._take(until=time.monotonic() if busy else None)
                outcomes: list[Outcome] = [(job, None, exc) for job in ended]
            else:
                busy = False
                outcomes = self._transaction(connection, self._take_batch())
        deliver(outcomes)
        return not busy

    def _begin(self) -> sqlite3.Connection:
        """A connection that holds the write lock of the file that is at the path."""
        if self._connection is None:
            self._connection = self._connect()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._check()
        except Exception as exc:
            if not is_busy(exc):
                self._drop()
            raise
        return self._connection

    def _take_batch(self) -> list[Job]:
        taken: list[Job] = []
        size = 0
        with self._waiting:
            while self._jobs and size < LARGEST_BATCH_BYTES:
                job = self._jobs.popleft()
                self._count_down()
                if job.take():
                    taken.append(job)
                    size += job.size
        return taken

    def _count_down(self) -> None:
        if self._left:
            self._left -= 1

    def _take(self, *, until: float | None) -> list[Job]:
        """The jobs whose deadline has passed; all of them without `until`."""
        with self._waiting:
            jobs, self._jobs = self._jobs, deque()
            ended: list[Job] = []
            for job in jobs:
                if until is not None and job.deadline > until:
                    self._jobs.append(job)
                    continue
                self._count_down()
                if job.take():
                    ended.append(job)
        return ended

    def _transaction(self, connection: sqlite3.Connection, jobs: list[Job]) -> list[Outcome]:
        try:
            outcomes = [_attempt(job, connection) for job in jobs]
            connection.execute("COMMIT")
            # A commit into a file that was deleted meanwhile is no commit.
            self._check()
        except Exception as exc:  # noqa: BLE001 - it is the outcome of the job at fault
            self._drop()
            if len(jobs) == 1:
                return [(jobs[0], None, exc)]
            return [outcome for job in jobs for outcome in self._alone(job)]
        return outcomes

    def _alone(self, job: Job) -> list[Outcome]:
        while True:
            try:
                connection = self._begin()
            except Exception as exc:  # noqa: BLE001 - it is the outcome of this job
                if not is_busy(exc) or time.monotonic() >= job.deadline:
                    return [(job, None, exc)]
                time.sleep(SHORTEST_RETRY_S)
            else:
                return self._transaction(connection, [job])

    def _drop(self) -> None:
        """Nothing, once the connection is closed, which also rolls back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_busy(exc: BaseException) -> bool:
    """Whether another connection was in the way, so that a later try may succeed."""
    code = getattr(exc, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _BUSY


def _attempt(job: Job, connection: sqlite3.Connection) -> Outcome:
    try:
        return job, job.operation(connection), None
    except AgentAdapterError as exc:
        return job, None, exc
