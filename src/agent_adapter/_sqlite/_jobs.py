"""What waits for the writer: an operation, the time until which it may wait, and who is told its outcome."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterable
from concurrent import futures
from typing import Any

Operation = Callable[[sqlite3.Connection], Any]


class AsyncJob(asyncio.Future[Any]):
    """A job of a coroutine, and the future that it awaits.

    While it waits it can be cancelled and nothing is stored. Once the writer has taken it, it ends first: `cancel`
    refuses, and the task hears of its cancellation when it wakes up with the outcome.
    """

    def __init__(
        self, operation: Operation, *, deadline: float, size: int, lock: threading.Condition
    ) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self.operation = operation
        self.deadline = deadline
        self.size = size
        self._lock = lock
        self._taken = False

    def take(self) -> bool:
        """Whether the job is the writer's now; called with the writer's lock held."""
        self._taken = not self.done()
        return self._taken

    def cancel(self, msg: Any | None = None) -> bool:
        """Whether the job is withdrawn: not once it was taken."""
        with self._lock:
            return not self._taken and super().cancel(msg)


class BlockingJob(futures.Future[Any]):
    """A job of a thread that waits for its result."""

    def __init__(self, operation: Operation, *, deadline: float) -> None:
        super().__init__()
        self.operation = operation
        self.deadline = deadline
        self.size = 0

    def take(self) -> bool:
        """Whether the job is the writer's now."""
        return self.set_running_or_notify_cancel()


Job = AsyncJob | BlockingJob
Outcome = tuple[Job, Any, Exception | None]


def deliver(outcomes: Iterable[Outcome]) -> None:
    """Nothing, once everybody is told; each event loop is woken once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        job = outcome[0]
        if isinstance(job, AsyncJob):
            by_loop.setdefault(job.get_loop(), []).append(outcome)
        else:
            _settle([outcome])
    for loop, mine in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:
            # The loop was closed under its tasks; nobody is left to tell.
            continue


def _settle(outcomes: Iterable[Outcome]) -> None:
    for job, value, error in outcomes:
        if error is None:
            job.set_result(value)
        else:
            job.set_exception(error)
