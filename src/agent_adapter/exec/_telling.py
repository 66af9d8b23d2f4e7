"""Hooks and sinks are told what happens to a call; what goes wrong there is logged and changes nothing."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agent_adapter.calls import ToolResult
from agent_adapter.exec._claimed import Claimed, escapes, settled
from agent_adapter.exec._run_sinks import run_sinks
from agent_adapter.policies import Event, ToolEnded, ToolRetried, ToolStarted

_log = logging.getLogger("agent_adapter")


async def tell_started(claimed: Claimed) -> None:
    """The body is about to begin."""
    for hook in claimed.policies.hooks:
        await _tell(getattr(hook, "before", None), claimed.shown, claimed.ctx)
    if claimed.policies.sinks or run_sinks():
        await _emit(claimed, ToolStarted(call=claimed.shown, tool=claimed.tool.name, at=_now()))


async def tell_retried(claimed: Claimed, result: ToolResult, delay_s: float) -> None:
    """An attempt failed, and another one follows."""
    if claimed.policies.sinks or run_sinks():
        event = ToolRetried(
            call=claimed.shown,
            tool=claimed.tool.name,
            result=result,
            delay_s=delay_s,
            at=_now(),
        )
        await _emit(claimed, event)


async def tell_hooks(claimed: Claimed, result: ToolResult) -> None:
    """The call ended so, and was not replayed."""
    for hook in claimed.policies.hooks:
        await _tell(getattr(hook, "after", None), claimed.shown, result, claimed.ctx)


async def tell_ended(claimed: Claimed, result: ToolResult) -> None:
    """The call has its result, and where there is a record, it is in there."""
    if claimed.policies.sinks or run_sinks():
        event = ToolEnded(call=claimed.shown, tool=claimed.tool.name, result=result, at=_now())
        await _emit(claimed, event)


async def _emit(claimed: Claimed, event: Event) -> None:
    for sink in (*claimed.policies.sinks, *run_sinks()):
        await _tell(sink, event)


async def _tell(listener: Callable[..., Any] | None, *said: Any) -> None:
    if listener is None:
        return
    try:
        await settled(listener(*said))
    except Exception as exc:  # who only listens cannot spoil a call
        if escapes(exc):
            raise
        _log.exception("%r failed; the call goes on without it", listener)


def _now() -> datetime:
    return datetime.now(UTC)
