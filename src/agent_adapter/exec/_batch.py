"""Many calls: claimed in input order, run side by side, answered in input order."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from agent_adapter.calls import ToolCall, ToolError, ToolResult
from agent_adapter.exec._call import Claimed, run_call
from agent_adapter.exec._gather import cancel_all, ended, workers
from agent_adapter.exec.control import is_control_flow

OnError = Literal["collect", "fail_fast"]


async def run_batch(
    batch: Sequence[Claimed | ToolResult], *, concurrency: int, on_error: OnError
) -> list[ToolResult]:
    """One result for each call, in input order.

    With "fail_fast" the first failed call stops the others: nothing more starts, what runs is cancelled, and both have
    a result of status "cancelled". When control flow or an observer's error escapes from a call, nothing more starts,
    the calls that run come to their end, and then it is raised: an observer's error before control flow, else the
    earliest.
    """
    results: list[ToolResult | None] = [None] * len(batch)
    waiting = iter(enumerate(batch))
    escaped: list[BaseException] = []
    tasks: list[asyncio.Task[None]] = []
    failed = False

    async def work() -> None:
        nonlocal failed
        for index, item in waiting:
            if escaped or failed:
                return
            try:
                result = item if isinstance(item, ToolResult) else await run_call(item)
            except BaseException as exc:  # noqa: BLE001 - raised below, after the others have ended
                # The cancellation below is meant for the call, not for whoever waits for the batch.
                if not (failed and isinstance(exc, asyncio.CancelledError)):
                    escaped.append(exc)
                return
            results[index] = result
            if on_error == "fail_fast" and result.status in ("error", "denied"):
                failed = True
                cancel_all(tasks)

    try:
        tasks += [asyncio.create_task(work()) for _ in range(workers(len(batch), concurrency))]
        if (cancelled := await ended(tasks)) is not None:
            raise cancelled
        if escaped:
            raise next((exc for exc in escaped if not is_control_flow(exc)), escaped[0])
    finally:
        # An exception's traceback holds this frame, which must not hold the exception in turn.
        escaped.clear()
    return [result or _unfinished(item) for result, item in zip(results, batch, strict=True)]


def _unfinished(item: Claimed | ToolResult) -> ToolResult:
    """The result of a call that did not run to its end; a result that was known before the cancellation stands."""
    if isinstance(item, ToolResult):
        return item
    return item.outcome or _cancelled(item.call)


def _cancelled(call: ToolCall) -> ToolResult:
    error = ToolError(
        "cancelled",
        "CancelledError",
        "another call failed first; an effect of this one may have happened",
    )
    return ToolResult(call_id=call.id, tool=call.name, status="cancelled", error=error)
