"""Read connections that are kept open, used on a few threads off the event loops."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
THREADS = 4


class Readers:
    """The read connections of one file.

    Args:
        connect: a new connection.
        check: raises when the file is no longer the one at its path.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], check: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._check = check
        self.after_fork_in_child()

    def __del__(self) -> None:
        self.close()

    async def run(self, read: Callable[[sqlite3.Connection], T], *, timeout_s: float) -> T:
        """What `read` returned; every statement in it sees the same state."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads(), self._read, read, timeout_s)

    def close(self) -> None:
        """Nothing, once no unused connection is open."""
        with self._lent:
            while self._free:
                self._free.pop().close()

    def before_fork(self) -> None:
        """Nothing, once no connection is open; none can be opened until the fork is over."""
        self._lent.acquire()
        while self._in_use:
            self._lent.wait()
        while self._free:
            self._free.pop().close()

    def after_fork_in_parent(self) -> None:
        """Nothing, once connections may be opened again."""
        self._lent.release()

    def after_fork_in_child(self) -> None:
        """Nothing, once the readers are as new."""
        self._lent = threading.Condition()
        self._in_use = 0
        self._free: list[sqlite3.Connection] = []

    def _read(self, read: Callable[[sqlite3.Connection], T], timeout_s: float) -> T:
        with self._lend() as connection:
            self._check()
            connection.execute(f"PRAGMA busy_timeout = {min(int(timeout_s * 1000), 2**31 - 1)}")
            connection.execute("BEGIN")
            try:
                return read(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _lend(self) -> Iterator[sqlite3.Connection]:
        with self._lent:
            self._in_use += 1
            connection = self._free.pop() if self._free else None
        try:
            connection = connection or self._connect()
            yield connection
        except sqlite3.Error:
            if connection is not None:
                connection.close()
            connection = None
            raise
        finally:
            with self._lent:
                self._in_use -= 1
                if connection is not None:
                    self._free.append(connection)
                self._lent.notify_all()


def _threads() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603 - one pool for all files of the process
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="agent-adapter-reader")
        return _pool


def _forget_threads() -> None:
    global _pool, _pool_lock  # noqa: PLW0603 - its threads stayed in the parent
    _pool_lock = threading.Lock()
    if _pool is not None:
        _abandoned.append(_pool)
    _pool = None


_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()
# Collecting an executor whose threads are gone may touch their locks, so it is kept.
_abandoned: list[ThreadPoolExecutor] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
