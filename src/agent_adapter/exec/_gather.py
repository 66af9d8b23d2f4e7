"""Many coroutines at once, in input order, without exception groups."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeVar, cast

from agent_adapter.errors import ToolUsageError

T = TypeVar("T")


async def gather_unwrapped(
    factories: Sequence[Callable[[], Awaitable[T]]], concurrency: int | None = None
) -> list[T]:
    """The results in input order; at most `concurrency` run at once, and they start in input order.

    The first exception that escapes cancels the others, waits for their end, and is then raised itself. Cancelling the
    caller cancels them all.

    Raises:
        ToolUsageError: `concurrency` is not a number from 1.
    """
    check_concurrency(concurrency)
    results: list[T | None] = [None] * len(factories)
    waiting = iter(enumerate(factories))
    escaped: list[BaseException] = []
    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        for index, factory in waiting:
            try:
                results[index] = await factory()
            except BaseException as exc:  # noqa: BLE001 - raised below, after the others have ended
                if not escaped:
                    escaped.append(exc)
                    cancel_all(tasks)
            if escaped:
                return

    try:
        tasks += [asyncio.create_task(work()) for _ in range(workers(len(factories), concurrency))]
        if (cancelled := await ended(tasks)) is not None:
            raise cancelled
        if escaped:
            raise escaped[0]
        return cast("list[T]", results)
    finally:
        # An exception's traceback holds this frame, which must not hold the exception in turn.
        escaped.clear()


def workers(count: int, concurrency: int | None) -> int:
    """How many workers share `count` pieces of work."""
    return count if concurrency is None else min(count, concurrency)


def check_concurrency(concurrency: object) -> None:
    """Nothing, when this is a limit, or None for no limit.

    Raises:
        ToolUsageError: `concurrency` is neither None nor a number from 1.
    """
    if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
        raise ToolUsageError(f"concurrency is None or a number from 1, not {concurrency!r}")


def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel these tasks, but not the one that says so, nor one whose clean-up a second cancellation would cut."""
    current = asyncio.current_task()
    for task in tasks:
        if task is not current and not task.cancelling():
            task.cancel()


async def ended(
    tasks: Collection[asyncio.Future[Any]], *, shield: bool = False
) -> asyncio.CancelledError | None:
    """The caller's own cancellation while it waited for all of these to end, or None.

    A cancellation is handed on to the tasks (not with `shield`) and their end is waited for all the same.
    """
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as exc:
            cancelled = exc
            if not shield:
                for task in pending:
                    task.cancel()
    return cancelled
