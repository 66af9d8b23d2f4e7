"""Plans: calls that need each other's values, run in the order of their needs and side by side where they may."""

import asyncio
import graphlib
import heapq
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_adapter.calls import ErrorKind, ToolCall, ToolError, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import RunLimitExceeded, ToolUsageError
from agent_adapter.exec._batch import OnError, check_on_error
from agent_adapter.exec._claimed import Claimed, escapes
from agent_adapter.exec._claiming import Claims
from agent_adapter.exec._gather import cancel_all, check_concurrency, ended
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._step import MissingValue, Step, needs_of, resolved
from agent_adapter.exec._visit import current_visit
from agent_adapter.exec.control import is_control_flow
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

_WHY = {
    "error": "failed",
    "denied": "was denied",
    "pending": "waits for a person",
    "cancelled": "did not come to its end",
}


async def run_plan(
    executor: Claims,
    steps: Iterable[Step],
    ctx: RunContext,
    *,
    concurrency: int,
    on_error: OnError,
) -> dict[str, ToolResult]:
    """How each step ended, by its id, in input order; at most `concurrency` run at once.

    A step runs when all that it needs has a value. When one of its needs has none, or its `when` says False, it is
    skipped: status "cancelled", error kind "skipped". With `on_error="fail_fast"` the first failed step stops the
    others as in `run_many`; what waits for a person is no failure.

    In a visit the steps are journaled, each under its id and its arguments: entered again, the finished ones replay.

    Raises:
        ToolUsageError: something is no `Step`, two have one id, a need is no step, steps need each other in a circle,
            or `concurrency` or `on_error` is wrong; nothing ran. Or the journal cannot replay a call.
        RunLimitExceeded: a limit of the run is reached; the steps that ran were cancelled and have ended.
        ConfigError: a tool needs approval, and nobody can be asked.
    """
    check_on_error(on_error)
    check_concurrency(concurrency)
    by_id = _by_id(steps)
    needs = {step.id: needs_of(step) for step in by_id.values()}
    sorter = _sorter(needs)
    visit = current_visit()
    journal = visit.journal if visit else None
    plan = _Plan(
        executor=executor,
        steps=by_id,
        needs=needs,
        ctx=ctx,
        journal=journal,
        fail_fast=on_error == "fail_fast",
    )
    await plan.drive(sorter, concurrency)
    return {step_id: plan.results[step_id] for step_id in by_id}


@dataclass(eq=False, kw_only=True)
class _Plan:
    """One plan on its way: what has ended, what runs, and what stops it."""

    executor: Claims
    steps: Mapping[str, Step]
    needs: Mapping[str, tuple[str, ...]]
    ctx: RunContext
    journal: Journal | None
    fail_fast: bool
    results: dict[str, ToolResult] = field(default_factory=dict)
    _running: dict[asyncio.Task[ToolResult | None], str] = field(default_factory=dict)
    _escaped: list[BaseException] = field(default_factory=list)
    _stopped: bool = False

    async def drive(self, sorter: "graphlib.TopologicalSorter[str]", concurrency: int) -> None:
        """Run every step; what escapes from one is raised as `run_batch` does it."""
        order = {step_id: place for place, step_id in enumerate(self.steps)}
        ready: list[tuple[int, str]] = []
        try:
            while sorter.is_active() and not self._escaped:
                for step_id in sorter.get_ready():
                    heapq.heappush(ready, (order[step_id], step_id))
                if ready and len(self._running) < concurrency:
                    _, step_id = heapq.heappop(ready)
                    if self._begin(self.steps[step_id]):
                        sorter.done(step_id)
                    continue
                done, _ = await asyncio.wait(self._running, return_when="FIRST_COMPLETED")
                for task in done:
                    sorter.done(self._collect(task))
        except asyncio.CancelledError:
            cancel_all(self._running)
            await ended(self._running)
            raise
        else:
            if (cancelled := await ended(self._running)) is not None:
                raise cancelled
            if self._escaped:
                failures = (exc for exc in self._escaped if not is_control_flow(exc))
                raise next(failures, self._escaped[0])
        finally:
            # An exception's traceback holds this frame, which must not hold the exception in turn.
            self._escaped.clear()

    def _begin(self, step: Step) -> bool:
        """Start the step; whether it has ended at once, because it cannot run."""
        try:
            call = self._call(step)
        except BaseException as exc:  # noqa: BLE001 - raised by `drive`, after the others have ended
            self._escaped.append(exc)
            return False
        if isinstance(call, ToolResult):
            self._end(step, call)
            return True
        self._running[asyncio.create_task(self._run(step, call))] = step.id
        return False

    def _call(self, step: Step) -> ToolCall | ToolResult:
        """The call that the step makes, or the result of a step that makes none."""
        needed = {need: self.results[need] for need in self.needs[step.id]}
        if missing := [
            f"{need!r} {_why(result)}" for need, result in needed.items() if not result.ok
        ]:
            return _skipped(step, f"of what it needs, {', '.join(missing)}")
        if self._stopped:
            return _cancelled(step, "another step failed first; this one did not start")
        if step.when is not None and (kept := _asked(step, step.when, needed)) is not None:
            return kept
        try:
            args = resolved(step.args, {need: result.value for need, result in needed.items()})
        except MissingValue as exc:
            return _failed(step, exc, kind="invalid")
        return ToolCall(step.id, _name(step), args)

    async def _run(self, step: Step, call: ToolCall) -> ToolResult | None:
        """The step's result, None when something escaped instead."""
        claimed: Claimed | ToolResult | None = None
        registry = Registry([step.tool]) if isinstance(step.tool, Tool) else None
        try:
            claimed = self.executor.claim(
                call, self.ctx, registry, step=step.id, journal=self.journal
            )
            (result,) = await self.executor.run_claimed([claimed], 1, "collect")
        except BaseException as exc:  # noqa: BLE001 - raised by `drive`, after the others have ended
            if self._stopped and isinstance(exc, asyncio.CancelledError):
                # The cancellation is meant for the step; a result that was known before stands.
                known = claimed.outcome if isinstance(claimed, Claimed) else claimed
                return known or _cut_short(step)
            self._escaped.append(exc)
            if isinstance(exc, RunLimitExceeded):
                cancel_all(self._running)
            return None
        else:
            return result

    def _collect(self, task: "asyncio.Task[ToolResult | None]") -> str:
        step = self.steps[self._running.pop(task)]
        # A task that was cancelled before it began never came as far as `_run`.
        result = _cut_short(step) if task.cancelled() else task.result()
        if result is not None:
            self._end(step, result)
        return step.id

    def _end(self, step: Step, result: ToolResult) -> None:
        self.results[step.id] = result
        if self.fail_fast and not self._stopped and result.status in ("error", "denied"):
            self._stopped = True
            cancel_all(self._running)


def _by_id(steps: Iterable[Step]) -> dict[str, Step]:
    by_id: dict[str, Step] = {}
    for step in steps:
        if not isinstance(step, Step):
            raise ToolUsageError(f"{step!r} is no Step")
        if by_id.setdefault(step.id, step) is not step:
            raise ToolUsageError(f"two steps have the id {step.id!r}")
    return by_id


def _sorter(needs: Mapping[str, tuple[str, ...]]) -> "graphlib.TopologicalSorter[str]":
    for step_id, needed in needs.items():
        if unknown := [need for need in needed if need not in needs]:
            raise ToolUsageError(
                f"step {step_id!r} needs {', '.join(map(repr, unknown))}, which is no step of this plan"
            )
    sorter = graphlib.TopologicalSorter(needs)
    try:
        sorter.prepare()
    except graphlib.CycleError as exc:
        # Each one named in the error is needed by the next.
        circle = " needs ".join(map(repr, reversed(exc.args[1])))
        raise ToolUsageError(f"steps need each other in a circle: {circle}") from None
    return sorter


def _asked(step: Step, when: Any, needed: Mapping[str, ToolResult]) -> ToolResult | None:
    """The result of a step that its `when` keeps from running, None for one that runs."""
    try:
        verdict = when(dict(needed))
        if inspect.iscoroutine(verdict):
            verdict.close()
        if not isinstance(verdict, bool):
            raise TypeError(f"when answered {verdict!r}, neither True nor False")  # noqa: TRY301
    except Exception as exc:
        if escapes(exc):
            raise
        return _failed(step, exc, kind="failed")
    return None if verdict else _skipped(step, "its `when` said False")


def _why(result: ToolResult) -> str:
    skipped = result.error is not None and result.error.kind == "skipped"
    return "was skipped" if skipped else _WHY[result.status]


def _name(step: Step) -> str:
    return step.tool.name if isinstance(step.tool, Tool) else step.tool


def _failed(step: Step, cause: Exception, *, kind: ErrorKind) -> ToolResult:
    error = ToolError.of(cause, kind=kind)
    return ToolResult(call_id=step.id, tool=_name(step), status="error", error=error, cause=cause)


def _skipped(step: Step, why: str) -> ToolResult:
    error = ToolError("skipped", "Skipped", why)
    return ToolResult(call_id=step.id, tool=_name(step), status="cancelled", error=error)


def _cancelled(step: Step, why: str) -> ToolResult:
    error = ToolError("cancelled", "CancelledError", why)
    return ToolResult(call_id=step.id, tool=_name(step), status="cancelled", error=error)


def _cut_short(step: Step) -> ToolResult:
    return _cancelled(step, "another step failed first; an effect of this one may have happened")
