"""The attempts of one call: each body from start to end, and whether another one may follow."""

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter._threads import runs_in_thread
from agent_adapter.calls import ToolResult
from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._body import Ended, Late, end_body
from agent_adapter.exec._call_key import _call_key_scope
from agent_adapter.exec._claimed import Claimed, Place, copied, escapes
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._parked import requests_of
from agent_adapter.exec._telling import tell_retried
from agent_adapter.exec._visit import visit_scope
from agent_adapter.limits import Meter, meter_scope

_log = logging.getLogger("agent_adapter")

# The loop keeps only weak references to its tasks.
_late_notes: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class _Attempt:
    """How one attempt ended; `started` is False when not even the first line of the body ran."""

    result: ToolResult
    outcome: Ended
    started: bool


async def run_body(claimed: Claimed) -> tuple[ToolResult, asyncio.CancelledError | None]:
    """How the last attempt ended, and the caller's cancellation where the body came to its end all the same.

    Control flow, errors of the record and a limit of the run escape, and are never tried again.
    """
    most = claimed.tool.retry or claimed.policies.retry or 1
    part = Meter(claimed.meter, limits=(claimed.policies.limits, claimed.ctx.limits))
    # A body may change what it is given; the next attempt gets what was asked for all the same.
    given = [copied(claimed.arguments) for _ in range(most - 1)]
    starts, number, spent_s = 0, 0, 0.0
    try:
        while True:
            number += 1
            began = time.perf_counter()
            arguments = given.pop() if given else claimed.arguments
            attempt = await _attempt(claimed, part, arguments)
            spent_s += time.perf_counter() - began
            starts += attempt.started
            result = replace(attempt.result, attempts=starts, duration_s=spent_s)
            if number >= most or not _may_repeat(claimed, attempt):
                return result, attempt.outcome.cancelled
            delay_s = claimed.policies.backoff.delay(number, claimed.policies.rng)
            await tell_retried(claimed, result, delay_s)
            await asyncio.sleep(delay_s)
    finally:
        if claimed.place is not None:
            used = part.used()
            del used["seconds"]
            claimed.place.slot.spent = {name: count for name, count in used.items() if count}


def _may_repeat(claimed: Claimed, attempt: _Attempt) -> bool:
    """Whether trying again cannot do harm: the effect did not happen, or happening twice is as good as once."""
    tool, outcome = claimed.tool, attempt.outcome
    if attempt.result.status != "error" or outcome.cancelled is not None:
        return False
    if not attempt.started or tool.idempotent or tool.read_only:
        return True
    # A body that was given up may still be running, whatever is declared about errors that it raises itself.
    return not outcome.timed_out and isinstance(outcome.error, tool.did_not_happen)


async def _attempt(claimed: Claimed, part: Meter, arguments: Mapping[str, Any]) -> _Attempt:
    place, tool, started = claimed.place, claimed.tool, True
    with _scopes(claimed, part) as inside:
        try:
            body = tool.start(arguments, claimed.ctx)
        except Exception as exc:  # noqa: BLE001 - looked at below, like an error of the body
            started, outcome = tool.is_async, Ended(error=exc)
        else:
            if place is not None:
                place.slot.running = functools.partial(runs_in_thread, body)
            late = _note_late(claimed, place) if place and place.journal.has_record else None
            outcome = await end_body(tool, body, claimed.timeout_s, on_late=late)
        if inside is not None and inside.parked and (cancelled := await inside.idle()) is not None:
            # A body that waits is over when its other calls are: the run may pause, and the process end, right after it.
            outcome = replace(outcome, cancelled=cancelled)
    return _Attempt(_result(claimed, inside, outcome), outcome, started)


@contextlib.contextmanager
def _scopes(claimed: Claimed, part: Meter) -> Iterator[Journal | None]:
    """What the body finds around it; gives the journal of the calls that it makes itself."""
    place, around = claimed.place, claimed.around
    with contextlib.ExitStack() as scopes:
        scopes.enter_context(meter_scope(part))
        scopes.enter_context(_call_key_scope(place.slot.idempotency_key if place else None))
        if place is None:
            if around is not None:
                scopes.enter_context(visit_scope(around.answer, around.journal))
            yield None
            return
        inside = place.journal.inside(place.slot)
        scopes.enter_context(visit_scope(place.answer, inside))
        yield inside


def _result(claimed: Claimed, inside: Journal | None, outcome: Ended) -> ToolResult:
    """What the end of a body means for its call.

    Raises:
        BaseException: what must not become a result.
    """
    if inside is not None and inside.failure is not None:
        # The body may have caught it; its call must not look finished all the same.
        raise inside.failure
    error = outcome.error
    waits = requests_of(error)
    if error is not None and waits is None and escapes(error):
        raise error
    parked = inside.parked if inside is not None else []
    if parked or waits is not None:
        # Whatever the body made of a call inside it that waits: it has not got what it wanted, so it has not ended.
        # What the body itself says first: a loop names its requests in the order of its calls.
        return claimed.pending(tuple({r.id: r for r in (*(waits or ()), *parked)}.values()))
    if error is not None:
        return claimed.failed("timeout" if outcome.timed_out else "failed", error)
    return claimed.finished(outcome.value)


def _note_late(claimed: Claimed, place: Place) -> Late:
    def note(body: asyncio.Future[Any]) -> None:
        error = body.exception()
        if error is not None and escapes(error):
            return
        result = (
            claimed.finished(body.result()) if error is None else claimed.failed("failed", error)
        )
        task = asyncio.get_running_loop().create_task(_tell_late(place, result))
        _late_notes.add(task)
        task.add_done_callback(_late_notes.discard)

    return note


async def _tell_late(place: Place, result: ToolResult) -> None:
    try:
        await place.journal.late(place.slot, result)
    except CheckpointConflict:
        _log.info("tool %r ended when its turn was over", result.tool)
    except Exception:  # noqa: BLE001 - nobody is left who could be told otherwise
        _log.exception("the late end of tool %r could not be noted", result.tool)
