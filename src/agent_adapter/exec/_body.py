"""One body from its start to its end: timeout, cancellation, and threads that nobody can stop."""

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent_adapter.exec._gather import ended
from agent_adapter.tools import Tool

_log = logging.getLogger("agent_adapter")


@dataclass(frozen=True)
class Ended:
    """How a body ended.

    Attributes:
        value: what it returned.
        error: what it raised instead, or a TimeoutError when it was given up.
        timed_out: it was given up after its timeout.
        cancelled: the caller was cancelled while the body came to its end all the same; to be raised once the
            outcome is kept.
    """

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    cancelled: asyncio.CancelledError | None = None


Late = Callable[[asyncio.Future[Any]], None]


async def end_body(
    tool: Tool, body: asyncio.Future[Any], timeout_s: float | None, *, on_late: Late | None = None
) -> Ended:
    """How the body ended. An async one that is out of time, or whose caller is cancelled, is cancelled and awaited.

    A sync one that nobody waits for any more is logged when it ends, and `on_late` is called with it.

    Raises:
        CancelledError: the caller was cancelled and the body has no value; or the body itself raised it.
    """
    clock = asyncio.get_running_loop().time
    deadline = None if timeout_s is None else clock() + timeout_s
    outcome = await _end(tool, body, timeout_s, stoppable=tool.is_async, on_late=on_late)
    while inspect.isawaitable(outcome.value):
        # A sync wrapper around an async function: what it returned is the rest of the body.
        if outcome.cancelled is not None:
            if inspect.iscoroutine(outcome.value):
                outcome.value.close()
            raise outcome.cancelled
        rest = asyncio.get_running_loop().create_task(_await(outcome.value))
        left = None if deadline is None else max(0.0, deadline - clock())
        outcome = await _end(tool, rest, left, stoppable=True, given_s=timeout_s)
    return outcome


async def _end(
    tool: Tool,
    body: asyncio.Future[Any],
    timeout_s: float | None,
    *,
    stoppable: bool,
    given_s: float | None = None,
    on_late: Late | None = None,
) -> Ended:
    cancelled: asyncio.CancelledError | None = None
    try:
        await asyncio.wait({body}, timeout=timeout_s)
    except asyncio.CancelledError as exc:
        cancelled = exc
    stopped = False
    if not body.done() and stoppable:
        stopped = body.cancel()
        cancelled = await ended([body]) or cancelled
    if not body.done():
        body.add_done_callback(functools.partial(_ended_late, tool.name, on_late))
    if cancelled is not None and not _has_value(body):
        raise cancelled
    if not body.done() or (stopped and body.cancelled()):
        state = "it was cancelled" if stoppable else "its thread may still be running"
        late = TimeoutError(f"no result within {given_s or timeout_s} s; {state}")
        return Ended(error=late, timed_out=True)
    if body.cancelled() or body.exception() is None:
        return Ended(body.result(), cancelled=cancelled)
    return Ended(error=body.exception())


def _has_value(body: asyncio.Future[Any]) -> bool:
    return body.done() and not body.cancelled() and body.exception() is None


async def _await(rest: Awaitable[Any]) -> Any:
    return await rest


def _ended_late(name: str, on_late: Late | None, body: asyncio.Future[Any]) -> None:
    if body.cancelled():
        return
    error = body.exception()
    how = "returned a value" if error is None else f"raised {error!r}"
    _log.warning("tool %r ended after its caller had left: it %s, which nobody gets", name, how)
    if error is None and inspect.iscoroutine(body.result()):
        # The rest of a sync wrapper's body: it has not begun, and nobody waits for it.
        body.result().close()
    elif on_late is not None:
        on_late(body)
