"""One call: found, validated, claimed, started, run, recorded, settled, in the order of the functions here."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter.calls import ErrorKind, ToolCall, ToolError, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import CheckpointError, ConfigError
from agent_adapter.exec._body import Ended, end_body
from agent_adapter.exec._call_key import _call_key_scope
from agent_adapter.exec._gather import ended
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._slot import Slot
from agent_adapter.exec._visit import Visit, current_visit, visit_scope
from agent_adapter.exec.control import is_control_flow
from agent_adapter.tools import Tool

_NO_CONTEXT = RunContext()
_NOT_CARRIED_OUT = ("confirm", "guards", "cache", "retry")


@dataclass(eq=False)
class Claimed:
    """A call that has its place in the visit's journal (where there is a visit) and may start.

    Attributes:
        outcome: the result, from the moment on at which it is known; a cancellation that comes later does not undo it.
    """

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    ctx: RunContext
    timeout_s: float | None
    visit: Visit | None
    slot: Slot | None
    outcome: ToolResult | None = None


def claim_call(
    call: ToolCall, tool: Tool | None, ctx: RunContext | None, *, timeout_s: float | None
) -> Claimed | ToolResult:
    """The claimed call, or the failure of one that cannot even start. Awaits nothing: the order of calls is kept.

    Raises:
        ConfigError: the tool has a policy that is not carried out here.
        ToolUsageError: the call ran before and could not be recorded.
    """
    if tool is None:
        error = ToolError("not_found", "ToolNotFound", f"there is no tool named {call.name!r}")
        return ToolResult(call_id=call.id, tool=call.name, status="error", error=error)
    refuse_policies(tool)
    try:
        arguments = tool.validate(call.arguments)
    except Exception as exc:  # a validator is the tool's code; its errors become the result
        if _escapes(exc):
            raise
        return _failed(call, "invalid", exc)
    visit = current_visit()
    slot = visit.journal.claim(tool.name, arguments, tool.returns, policy=tool) if visit else None
    return Claimed(call, tool, arguments, ctx or _NO_CONTEXT, timeout_s, visit, slot)


def refuse_policies(tool: Tool) -> None:
    """Refuse a tool with a policy that this executor would have to ignore.

    Raises:
        ConfigError: it has one; the message names the tool and the field.
    """
    for name in _NOT_CARRIED_OUT:
        if getattr(tool, name) not in (None, False, ()):
            raise ConfigError(
                f"tool {tool.name!r} sets {name!r}, which this executor does not carry out: remove it"
            )


async def run_call(claimed: Claimed) -> ToolResult:
    """The call's result: replayed, answered by the journal's observer, or what the body gives.

    Control flow and the errors of an observer escape as they are.
    """
    if claimed.visit is None or claimed.slot is None:
        result, cancelled = await _run_body(claimed)
    else:
        result, cancelled = await _run_journaled(claimed, claimed.visit.journal, claimed.slot)
    if cancelled is not None:
        raise cancelled
    return result


async def _run_journaled(
    claimed: Claimed, journal: Journal, slot: Slot
) -> tuple[ToolResult, asyncio.CancelledError | None]:
    answer = await journal.started(slot)
    cancelled = None
    if slot.result is not None:
        result = replace(slot.result, call_id=claimed.call.id)
    elif answer is not None:
        result = replace(answer, call_id=claimed.call.id, tool=claimed.tool.name)
        journal.record(slot, result)
    else:
        result, cancelled = await _run_body(claimed)
        journal.record(slot, result)
    claimed.outcome = result
    return result, await _settle(journal, slot, result) or cancelled


async def _run_body(claimed: Claimed) -> tuple[ToolResult, asyncio.CancelledError | None]:
    began = time.perf_counter()
    inside, outcome = await _attempt(claimed)
    if inside is not None and inside.failure is not None:
        # The body may have caught it; its call must not look finished all the same.
        raise inside.failure
    if outcome.error is not None and _escapes(outcome.error):
        raise outcome.error
    call, spent_s = claimed.call, time.perf_counter() - began
    if outcome.error is not None:
        result = _failed(call, "timeout" if outcome.timed_out else "failed", outcome.error)
    else:
        result = ToolResult(call_id=call.id, tool=call.name, value=outcome.value)
    result = replace(result, attempts=1, duration_s=spent_s)
    claimed.outcome = result
    return result, outcome.cancelled


async def _attempt(claimed: Claimed) -> tuple[Journal | None, Ended]:
    """The body's end, and the journal of the calls that it made itself."""
    tool, visit, slot = claimed.tool, claimed.visit, claimed.slot
    key = slot.idempotency_key if slot else None
    with _call_key_scope(key):
        if visit is None or slot is None:
            inside = None
            body = tool.start(claimed.arguments, claimed.ctx)
        else:
            inside = visit.journal.inside(slot)
            with visit_scope(visit.answer, inside):
                body = tool.start(claimed.arguments, claimed.ctx)
    return inside, await end_body(tool, body, claimed.timeout_s)


async def _settle(
    journal: Journal, slot: Slot, result: ToolResult
) -> asyncio.CancelledError | None:
    """Settle to the end: what happened is noted although the caller is cancelled meanwhile."""
    if not journal.durable:
        return None
    settling = asyncio.create_task(journal.settle(slot, result))
    cancelled = await ended([settling], shield=True)
    settling.result()
    return cancelled


def _failed(call: ToolCall, kind: ErrorKind, cause: BaseException) -> ToolResult:
    error = ToolError.of(cause, kind=kind)
    return ToolResult(call_id=call.id, tool=call.name, status="error", error=error, cause=cause)


def _escapes(exc: BaseException) -> bool:
    """Whether this never becomes a result: control flow, an error about a stored run, or no ordinary error at all."""
    return (
        not isinstance(exc, Exception) or isinstance(exc, CheckpointError) or is_control_flow(exc)
    )
