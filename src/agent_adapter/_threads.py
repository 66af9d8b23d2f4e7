"""Daemon threads for the bodies of sync tools: one for each running body, kept a while for the next."""

import asyncio
import contextlib
import contextvars
import os
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_KEPT_S = 10.0

_Job = Callable[[], Callable[[], None]]


def run_in_thread(body: Callable[[], T]) -> asyncio.Future[T]:
    """The future outcome of `body`, which runs in a thread with a copy of the caller's context variables.

    There is no limit on threads beside the executor's own, so that a body that hangs after its timeout takes no place
    from others; and none of them keeps the process from ending.

    Raises:
        RuntimeError: the system gives no more threads; the body did not start.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(end: Callable[[], None]) -> None:
        # A closed loop has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else end())

    def job() -> Callable[[], None]:
        try:
            value = context.run(body)
        except StopIteration:
            # A future cannot carry it: its waiter would wait for ever.
            refused = RuntimeError("the tool raised StopIteration")
            return lambda: deliver(lambda: future.set_exception(refused))
        except BaseException as exc:  # noqa: BLE001 - every outcome belongs to whoever awaits the future
            error = exc
            return lambda: deliver(lambda: future.set_exception(error))
        return lambda: deliver(lambda: future.set_result(value))

    def running() -> Callable[[], None]:
        try:
            return job()
        finally:
            # Whatever became of the loop that waited.
            _running.discard(id(future))

    # The job holds the future, so that no other object has this id while it runs.
    _running.add(id(future))
    try:
        worker = _idle.pop()
    except IndexError:
        try:
            worker = _Worker()
        except BaseException:
            _running.discard(id(future))
            raise
    worker.give(running)
    return future


def runs_in_thread(body: "asyncio.Future[object]") -> bool:
    """Whether this is the future of a body whose thread has not ended."""
    return id(body) in _running


class _Worker:
    """One thread: it waits for a job, runs it, and offers itself again."""

    def __init__(self) -> None:
        self._job: _Job | None = None
        self._given = threading.Lock()
        self._given.acquire()
        threading.Thread(target=self._work, name="agent-adapter-tool", daemon=True).start()

    def give(self, job: _Job) -> None:
        """Run this next; only whoever took the worker from the idle ones may say so."""
        self._job = job
        self._given.release()

    def _work(self) -> None:
        while self._wait():
            job, self._job = self._job, None
            assert job is not None  # noqa: S101 - the lock is released by `give` alone
            deliver = job()
            # Idle before the outcome is known: the next body, which may depend on it, finds this thread.
            _idle.append(self)
            deliver()
            del job, deliver

    def _wait(self) -> bool:
        """Whether there is a job; False ends the thread."""
        if self._given.acquire(timeout=_KEPT_S):
            return True
        try:
            _idle.remove(self)
        except ValueError:
            # Somebody took this worker at this very moment, so a job is on its way.
            return self._given.acquire()
        return False


# Appending, popping and removing are atomic; the last one in is the first one out, so that spare threads end.
_idle: list[_Worker] = []
_running: set[int] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
    os.register_at_fork(after_in_child=_running.clear)
