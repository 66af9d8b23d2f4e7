"""LoopRunner: one event loop in a daemon thread, on which sync callers run coroutines."""

import asyncio
import contextvars
import os
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from agent_adapter._seconds import is_seconds
from agent_adapter.errors import ToolUsageError

__all__ = ["LoopRunner", "shared"]

T = TypeVar("T")

# Which runners the present code is working for; it travels into tasks and worker threads with their context.
_working_for: contextvars.ContextVar[tuple["LoopRunner", ...]] = contextvars.ContextVar(
    "working_for", default=()
)


class LoopRunner:
    """One long-lived loop: what a coroutine binds to it (a client, a semaphore) works in the next one too.

    The thread starts with the first `run`, is shared by every caller, and never keeps the process from ending. A forked
    child gets a fresh loop on its first `run`.
    """

    def __init__(self, *, name: str = "agent-adapter-loop") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def run(self, work: Coroutine[Any, Any, T], *, timeout: float | None = None) -> T:
        """The outcome of `work`, which runs on the loop with a copy of the caller's context variables.

        An interrupt of the waiting thread (Ctrl-C) cancels the work, waits for its end and goes on as it was.

        Raises:
            TimeoutError: `timeout` seconds passed; the work was cancelled and has ended.
            ToolUsageError: called by work that itself runs on this loop (it would wait for itself), also from a worker
                thread of it; or `timeout` is not a positive number.
        """
        try:
            self._check(timeout)
            job = _Job(work, self, self._running_loop())
        except BaseException:
            work.close()
            raise
        return job.run(timeout)

    def close(self) -> None:
        """Stop the thread and close the loop; the next `run` starts anew."""
        with _starting:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or self._pid != os.getpid():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def _check(self, timeout: float | None) -> None:
        # In a forked child the loop is a fresh one, which nobody works for yet.
        mine = self._pid == os.getpid()
        if mine and (
            self in _working_for.get()
            or (self._thread is not None and threading.get_ident() == self._thread.ident)
        ):
            raise ToolUsageError(
                "this code already runs on the shared loop, so waiting for it here would never end: "
                "await the coroutine instead"
            )
        if not is_seconds(timeout):
            raise ToolUsageError(
                f"timeout is None or a positive number of seconds, not {timeout!r}"
            )

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is not None and self._pid == os.getpid():
            return self._loop
        with _starting:
            if self._loop is None or self._pid != os.getpid():
                # A parent's loop is kept, never closed: that would unregister its wake-up in the parent too.
                _left_behind.append(self._loop)
                self._pid = os.getpid()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, then end what is left on it."""
    while True:
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            # asyncio lets these two out of the loop as well as into the task; the task's caller gets it, others go on.
            continue
        break
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


class _Job(Generic[T]):
    """One piece of work on the loop and the thread that waits for it."""

    def __init__(
        self, work: Coroutine[Any, Any, T], runner: LoopRunner, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._work = work
        self._loop = loop
        self._context = contextvars.copy_context()
        self._context.run(_working_for.set, (*_working_for.get(), runner))
        self._task: asyncio.Task[T] | None = None
        # A bare lock: it is a fraction of an Event's cost, and waiting for it can be interrupted.
        self._ended = threading.Lock()
        self._ended.acquire()

    def run(self, timeout: float | None) -> T:
        try:
            self._loop.call_soon_threadsafe(self._start)
            in_time = self._ended.acquire(
                timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)
            )
            if not in_time:
                self._loop.call_soon_threadsafe(self._cancel)
                self._ended.acquire()
        except BaseException:
            # An interrupt comes between any two instructions: before the work was handed over, or after it has ended.
            self._give_up()
            raise
        task = self._task
        assert task is not None  # noqa: S101 - the lock is released by the task's own end
        try:
            # A result that came after all is the truth; it is not thrown away.
            return task.result()
        except asyncio.CancelledError:
            if in_time:
                raise
            raise TimeoutError(f"no result within {timeout} s; the work was cancelled") from None
        finally:
            del task, self._task

    def _start(self) -> None:
        self._task = self._loop.create_task(self._work, context=self._context)
        self._task.add_done_callback(lambda _: self._ended.release())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self._work.close()
            self._ended.release()

    def _give_up(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:
            # The loop is closed: it took the work with it, or never got it.
            self._work.close()
            return
        if self._task is None or not self._task.done():
            self._ended.acquire()


def shared() -> LoopRunner:
    """The process-wide runner."""
    return _shared


def _reset_after_fork() -> None:
    global _starting  # noqa: PLW0603 - another thread of the parent may have held it, and that thread is not here
    _starting = threading.Lock()


_starting = threading.Lock()
_left_behind: list[asyncio.AbstractEventLoop | None] = []
_shared = LoopRunner()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
