"""Many calls: claimed in input order, run side by side, answered in input order."""

import asyncio
from collections.abc import Sequence
from typing import Literal, get_args

from agent_adapter.calls import ToolCall, ToolError, ToolResult
from agent_adapter.errors import RunLimitExceeded, ToolUsageError
from agent_adapter.exec._call import run_call
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._gather import cancel_all, ended, workers
from agent_adapter.exec.control import is_control_flow

OnError = Literal["collect", "fail_fast"]


def check_on_error(on_error: object) -> None:
    """Nothing, when this is one of the two words.

    Raises:
        ToolUsageError: it is neither "collect" nor "fail_fast".
    """
    if on_error not in get_args(OnError):
        raise ToolUsageError(f"on_error is 'collect' or 'fail_fast', not {on_error!r}")


async def run_batch(
    batch: Sequence[Claimed | ToolResult], *, concurrency: int, on_error: OnError
) -> list[ToolResult]:
    """One result for each call, in input order.

    With "fail_fast" the first failed call stops the others: nothing more starts, what runs is cancelled, and both have
    a result of status "cancelled"; a call that waits for a person has not failed. When control flow or an observer's
    error escapes from a call, nothing more starts, the calls that run come to their end, and then it is raised: an
    observer's error before control flow, else the earliest. A limit of the run that is reached cancels the calls that
    run, and is raised when they have ended.
    """
    results: list[ToolResult | None] = [None] * len(batch)
    waiting = iter(enumerate(batch))
    escaped: list[BaseException] = []
    tasks: list[asyncio.Task[None]] = []
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for index, item in waiting:
            if escaped or stopped:
                return
            try:
                result = item if isinstance(item, ToolResult) else await run_call(item)
            except BaseException as exc:  # noqa: BLE001 - raised below, after the others have ended
                if not _meant_for_calls(exc, stopped):
                    escaped.append(exc)
                if isinstance(exc, RunLimitExceeded):
                    stopped = True
                    cancel_all(tasks)
                return
            results[index] = result
            if on_error == "fail_fast" and result.status in ("error", "denied"):
                stopped = True
                cancel_all(tasks)

    try:
        tasks += [asyncio.create_task(work()) for _ in range(workers(len(batch), concurrency))]
        if (cancelled := await ended(tasks)) is not None:
            raise cancelled
        if escaped:
            raise _weightiest(escaped)
    finally:
        # An exception's traceback holds this frame, which must not hold the exception in turn.
        escaped.clear()
    return [result or _unfinished(item) for result, item in zip(results, batch, strict=True)]


def _meant_for_calls(exc: BaseException, stopped: bool) -> bool:
    """Whether this is the batch's own cancellation of its calls, and none of whoever waits for the batch."""
    return stopped and isinstance(exc, asyncio.CancelledError)


def _weightiest(escaped: Sequence[BaseException]) -> BaseException:
    return next((exc for exc in escaped if not is_control_flow(exc)), escaped[0])


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
