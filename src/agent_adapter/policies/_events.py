"""Events of calls and the sinks that take them. Frozen values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from agent_adapter.calls import ToolCall, ToolResult


@dataclass(frozen=True, kw_only=True)
class ToolStarted:
    """A body is about to begin, with `call.arguments`."""

    call: ToolCall
    tool: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class ToolRetried:
    """An attempt failed and another one follows.

    Attributes:
        call: what is called.
        tool: the tool's name.
        result: how the attempt ended; `result.attempts` says which it was.
        delay_s: seconds until the next one.
        at: when it ended.
    """

    call: ToolCall
    tool: str
    result: ToolResult
    delay_s: float
    at: datetime


@dataclass(frozen=True, kw_only=True)
class ToolEnded:
    """A call has its result, replayed ones included."""

    call: ToolCall
    tool: str
    result: ToolResult
    at: datetime


Event = ToolStarted | ToolRetried | ToolEnded
Sink = Callable[[Event], Awaitable[None] | None]
