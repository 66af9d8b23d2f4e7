"""SyncTwins: the executor's coroutines for callers without an event loop, all on the one loop of the process."""

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol

from agent_adapter.approvals import ApprovalDecision
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.exec._batch import OnError
from agent_adapter.exec._step import Step
from agent_adapter.registry import Registry
from agent_adapter.runtime import shared
from agent_adapter.tools import Tool


class _Runs(Protocol):
    """What the twins are twins of: see `Executor`."""

    def run(
        self,
        tool: str | Tool,
        args: Mapping[str, Any] | None = None,
        ctx: RunContext | None = None,
        *,
        call_id: str | None = None,
    ) -> Coroutine[Any, Any, Any]: ...

    def run_call(
        self, call: ToolCall, ctx: RunContext | None = None, *, registry: Registry | None = None
    ) -> Coroutine[Any, Any, ToolResult]: ...

    def run_many(
        self,
        calls: Iterable[ToolCall],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
        registry: Registry | None = None,
    ) -> Coroutine[Any, Any, list[ToolResult]]: ...

    def run_plan(
        self,
        steps: Iterable[Step],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
    ) -> Coroutine[Any, Any, dict[str, ToolResult]]: ...

    def resume(
        self,
        approval_id: str,
        decision: ApprovalDecision | bool | None = None,
        ctx: RunContext | None = None,
        *,
        decided_by: str = "",
        reason: str = "",
    ) -> Coroutine[Any, Any, ToolResult]: ...


class SyncTwins:
    """Blocking twins of an executor's coroutines.

    Every call of every executor runs on one long-lived loop of the process, with a copy of the caller's context
    variables: what a tool binds to the loop (a client, a semaphore) works in the next call too. A forked child has a
    loop of its own.

    `timeout` is how many seconds the caller waits. When they have passed, the work is cancelled, and the error comes
    when it has ended; the thread of a sync tool may still be running then. An interrupt of the waiting thread (Ctrl-C)
    cancels the work as well.
    """

    def run_sync(
        self: _Runs,
        tool: str | Tool,
        args: Mapping[str, Any] | None = None,
        ctx: RunContext | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The tool's value, as `run` gives it.

        Raises:
            TimeoutError: `timeout` seconds passed.
            ToolUsageError: called by a tool that itself runs on the shared loop, or from its thread (`await run(…)`
                there); `timeout` is not a positive number; or as `run`.
            Exception: whatever `run` raises.
        """
        return shared().run(self.run(tool, args, ctx, call_id=call_id), timeout=timeout)

    def run_call_sync(
        self: _Runs,
        call: ToolCall,
        ctx: RunContext | None = None,
        *,
        registry: Registry | None = None,
        timeout: float | None = None,
    ) -> ToolResult:
        """How the call ended, as `run_call` gives it; failures are in the result.

        Raises:
            TimeoutError: `timeout` seconds passed.
            ToolUsageError: called by a tool that itself runs on the shared loop, or from its thread
                (`await run_call(…)` there); `timeout` is not a positive number; or as `run_call`.
            Exception: whatever `run_call` raises.
        """
        return shared().run(self.run_call(call, ctx, registry=registry), timeout=timeout)

    def run_many_sync(
        self: _Runs,
        calls: Iterable[ToolCall],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
        registry: Registry | None = None,
        timeout: float | None = None,
    ) -> list[ToolResult]:
        """How each call ended, in input order, as `run_many` gives it.

        Raises:
            TimeoutError: `timeout` seconds passed.
            ToolUsageError: called by a tool that itself runs on the shared loop, or from its thread
                (`await run_many(…)` there); `timeout` is not a positive number; or as `run_many`.
            Exception: whatever `run_many` raises.
        """
        work = self.run_many(
            calls, ctx, concurrency=concurrency, on_error=on_error, registry=registry
        )
        return shared().run(work, timeout=timeout)

    def run_plan_sync(
        self: _Runs,
        steps: Iterable[Step],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
        timeout: float | None = None,
    ) -> dict[str, ToolResult]:
        """How each step ended, by its id, as `run_plan` gives it.

        Raises:
            TimeoutError: `timeout` seconds passed.
            ToolUsageError: called by a tool that itself runs on the shared loop, or from its thread
                (`await run_plan(…)` there); `timeout` is not a positive number; or as `run_plan`.
            Exception: whatever `run_plan` raises.
        """
        work = self.run_plan(steps, ctx, concurrency=concurrency, on_error=on_error)
        return shared().run(work, timeout=timeout)

    def resume_sync(
        self: _Runs,
        approval_id: str,
        decision: ApprovalDecision | bool | None = None,
        ctx: RunContext | None = None,
        *,
        decided_by: str = "",
        reason: str = "",
        timeout: float | None = None,
    ) -> ToolResult:
        """How the parked call ended, decided and run once, as `resume` gives it.

        Raises:
            TimeoutError: `timeout` seconds passed; the decision may be stored, and used up.
            ToolUsageError: called by a tool that itself runs on the shared loop, or from its thread
                (`await resume(…)` there); `timeout` is not a positive number; or as `resume`.
            Exception: whatever `resume` raises.
        """
        work = self.resume(approval_id, decision, ctx, decided_by=decided_by, reason=reason)
        return shared().run(work, timeout=timeout)
