"""One call: found, validated, claimed, then replayed or taken through its policies, run, recorded and settled."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from agent_adapter._canonical import digest
from agent_adapter.calls import ToolCall, ToolError, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import ConfigError, NotSealable, ToolUsageError
from agent_adapter.exec._approve import approve
from agent_adapter.exec._cached import cache_key, find_cached, keep_cached
from agent_adapter.exec._claimed import Claimed, Place, Resumed, escapes, failed
from agent_adapter.exec._gather import ended
from agent_adapter.exec._guarding import guard_after, guard_before
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._policies import Policies
from agent_adapter.exec._retry import run_body
from agent_adapter.exec._telling import tell_ended, tell_hooks, tell_started
from agent_adapter.exec._visit import current_visit, outside_visits
from agent_adapter.limits import current_meter
from agent_adapter.tools import Tool

T = TypeVar("T")


def claim_call(
    call: ToolCall,
    tool: Tool | None,
    ctx: RunContext,
    policies: Policies,
    *,
    timeout_s: float | None,
    step: str | None = None,
    journal: Journal | None = None,
    resumed: Resumed | None = None,
    named: bool = True,
) -> Claimed | ToolResult:
    """The claimed call, or the failure of one that cannot even start. Awaits nothing: the order of calls is kept.

    Args:
        call: what is asked for.
        tool: what its name stands for.
        ctx: the run that it belongs to.
        policies: the executor's.
        timeout_s: seconds for each attempt.
        step: of which step of a plan it is the call.
        journal: where it is claimed, in place of the present visit's.
        resumed: the decision that was made before.
        named: whether the call's id is the caller's own.

    Raises:
        ConfigError: a person has to be asked, and there is neither a way to ask nor a visit that could wait.
        ToolUsageError: the call ran before and could not be recorded.
    """
    if tool is None:
        error = ToolError("not_found", "ToolNotFound", f"there is no tool named {call.name!r}")
        return ToolResult(call_id=call.id, tool=call.name, status="error", error=error)
    try:
        arguments = tool.validate(call.arguments)
    except Exception as exc:  # a validator is the tool's code; its errors become the result
        if escapes(exc):
            raise
        return failed(call, "invalid", exc)
    visit = current_visit()
    journal = journal or (visit.journal if visit else None)
    slot = None
    if journal is not None:
        _check_same_again(call, tool, journal, arguments)
        slot = journal.claim(tool.name, arguments, tool.returns, step=step, policy=tool)
    if slot is None and tool.confirm is not False and policies.approvals is None:
        raise ConfigError(
            f"tool {tool.name!r} needs a person's approval and nobody can be asked: "
            "give the executor a port, Executor(approvals=…)"
        )
    place = None
    if journal is not None and slot is not None:
        slot.container = tool.kind == "agent"
        slot.call_id = call.id if named else ""
        place = Place(journal, slot, visit.answer if visit else None)
    return Claimed(
        call=call,
        tool=tool,
        asked=arguments,
        arguments=arguments,
        ctx=ctx,
        meter=current_meter() or ctx.meter,
        timeout_s=timeout_s,
        policies=policies,
        place=place,
        around=visit if place is None else None,
        resumed=resumed,
    )


def _check_same_again(
    call: ToolCall, tool: Tool, journal: Journal, arguments: Mapping[str, Any]
) -> None:
    """Nothing, when validating the call again gives equal arguments: by them its record is found.

    Raises:
        ToolUsageError: it does not.
    """
    if not tool.makes_values:
        return
    try:
        same = journal.encoded(arguments) == journal.encoded(tool.validate(call.arguments))
    except NotSealable:
        return
    if not same:
        raise ToolUsageError(
            f"tool {tool.name!r}: a default_factory gives its arguments another value each time, so a record of this call "
            "could not be found again: let the body make the value, or let the caller give it"
        )


async def run_call(claimed: Claimed) -> ToolResult:
    """The call's result: from the record, from its policies, or what the body gives.

    Control flow, a limit of the run and the errors of an observer escape as they are.
    """
    # Policies stand in no visit: what a guard asks about one call is no answer about the next one.
    place = claimed.place
    with outside_visits(), place.journal.under_way() if place else nullcontext():
        return await _run(claimed)


async def _run(claimed: Claimed) -> ToolResult:
    place = claimed.place
    if place is not None and (replayed := await _replay(claimed, place)) is not None:
        result, cancelled = await _settle(claimed, place, replayed)
    else:
        try:
            result, cancelled = await _carry_out(claimed)
        except BaseException as exc:
            if place is not None:
                left = place.journal.leave(place.slot, exc)
                await _to_the_end(left, waits=place.journal.has_record)
            raise
        if place is not None:
            place.journal.record(place.slot, result)
        result, cut_off = await _settle(claimed, place, result)
        cancelled = cut_off or cancelled
    if cancelled is not None:
        raise cancelled
    return result


async def _replay(claimed: Claimed, place: Place) -> ToolResult | None:
    """The result in the record, which no policy touches; it counts for the run as it did the first time."""
    answer = await place.journal.look(place.slot)
    if answer is None:
        return None
    result = claimed.outcome = claimed.as_own(answer)
    if place.slot.result is None:
        place.journal.record(place.slot, result)
    elif not place.journal.has_record:
        await place.journal.started(place.slot)
    spent = dict(place.slot.spent)
    claimed.meter.add({**spent, "tool_calls": spent.get("tool_calls", 0) + 1})
    return result


async def _carry_out(claimed: Claimed) -> tuple[ToolResult, asyncio.CancelledError | None]:
    refused = await guard_before(claimed)
    if refused is not None:
        # Counted like every call that has a result, so that a run that is recovered counts the same.
        claimed.meter.add({"tool_calls": 1})
        return await _conclude(claimed, refused, None)
    claimed.meter.take_tool_call((claimed.policies.limits, claimed.ctx.limits))
    refused = await approve(claimed)
    if refused is not None:
        return await _conclude(claimed, refused, None)
    key = cache_key(claimed)
    if key is not None and (cached := await find_cached(claimed, key)) is not None:
        return await _conclude(claimed, cached, None)
    refused = _note_given(claimed)
    if refused is not None:
        return await _conclude(claimed, refused, None)
    place = claimed.place
    if place is not None and (answer := await place.journal.started(place.slot)) is not None:
        claimed.meter.add(place.slot.spent)
        claimed.outcome = claimed.as_own(answer)
        return claimed.outcome, None
    await tell_started(claimed)
    result, cancelled = await run_body(claimed)
    result, cut_off = await _conclude(claimed, result, key, guarded=False)
    return result, cut_off or cancelled


def _note_given(claimed: Claimed) -> ToolResult | None:
    """None once the slot says with which arguments the body really runs."""
    place = claimed.place
    if place is None or claimed.arguments is claimed.asked:
        return None
    try:
        given = claimed.encoded()
    except NotSealable as exc:
        return claimed.failed("invalid", exc)
    if digest(given) != place.slot.digest:
        place.slot.given = given
    return None


async def _conclude(
    claimed: Claimed, result: ToolResult, key: str | None, *, guarded: bool = True
) -> tuple[ToolResult, asyncio.CancelledError | None]:
    """The result as it stands, guarded and told. What a body did is not lost to a cancellation meanwhile."""

    async def finish() -> ToolResult:
        final = result
        if result.ok and not guarded:
            let_out = await guard_after(claimed, result)
            final = replace(let_out, attempts=result.attempts, duration_s=result.duration_s)
        claimed.outcome = final
        await tell_hooks(claimed, final)
        if final.ok and key is not None:
            await keep_cached(claimed, key, final)
        return final

    policies = claimed.policies
    told = policies.guards or policies.hooks or claimed.tool.guards or key is not None
    return await _to_the_end(finish(), waits=bool(told))


async def _settle(
    claimed: Claimed, place: Place | None, result: ToolResult
) -> tuple[ToolResult, asyncio.CancelledError | None]:
    """The result, once it is noted and told."""

    async def settle() -> ToolResult:
        if place is not None:
            await place.journal.settle(place.slot, result)
        await tell_ended(claimed, result)
        return result

    durable = place is not None and place.journal.durable
    return await _to_the_end(settle(), waits=durable or bool(claimed.policies.sinks))


async def _to_the_end(
    work: Coroutine[Any, Any, T], *, waits: bool
) -> tuple[T, asyncio.CancelledError | None]:
    """What the work gives, although the caller is cancelled meanwhile; the cancellation comes with it.

    Work that does not wait cannot be interrupted, and needs no task of its own.
    """
    if not waits:
        return await work, None
    task = asyncio.create_task(work)
    cancelled = await ended([task], shield=True)
    return task.result(), cancelled
