"""Executor: runs tool calls, alone or many at once, through the journal of the present visit."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agent_adapter._seconds import is_seconds
from agent_adapter.approvals import ApprovalPort
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import (
    ConfigError,
    ToolArgumentsInvalid,
    ToolFailed,
    ToolNotFound,
    ToolTimeout,
    ToolUsageError,
)
from agent_adapter.exec._batch import OnError, run_batch
from agent_adapter.exec._call import Claimed, claim_call, refuse_policies, run_call
from agent_adapter.exec._gather import check_concurrency
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

_FAILURES: Mapping[str, type[ToolFailed]] = {
    "not_found": ToolNotFound,
    "invalid": ToolArgumentsInvalid,
    "timeout": ToolTimeout,
}


class Executor:
    """Runs calls of the tools of a registry.

    Inside a visit (`visit_scope`) every call has a place in the visit's journal: a call that finished in an earlier
    execution of the visit is answered from the record. Outside one nothing is recorded.

    Attributes:
        registry: where tools are looked up.
        approvals: how a person is asked.

    Raises:
        ConfigError: a setting has a value that it cannot have, or a tool has a policy that is not carried out here.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        *,
        approvals: ApprovalPort | None = None,
        timeout: float | None = None,
        concurrency: int = 8,
    ) -> None:
        if not is_seconds(timeout):
            raise ConfigError(f"timeout is None or a positive number of seconds, not {timeout!r}")
        if type(concurrency) is not int or concurrency < 1:
            raise ConfigError(f"concurrency is a number from 1, not {concurrency!r}")
        self.registry = Registry() if registry is None else registry
        self.approvals = approvals
        self._timeout = timeout
        self._concurrency = concurrency
        for tool in self.registry:
            refuse_policies(tool)

    async def run(
        self,
        tool: str | Tool,
        args: Mapping[str, Any] | None = None,
        ctx: RunContext | None = None,
        *,
        call_id: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the promise is the executor's: what is cancelled and what may go on
    ) -> Any:
        """The tool's value.

        Raises:
            ToolNotFound: no tool of that name is registered.
            ToolArgumentsInvalid: the arguments do not fit.
            ToolTimeout: it did not end in time; a sync tool's thread may still be running.
            ToolFailed: it raised; the cause is its own exception where this process saw it.
            ToolUsageError: `timeout` is not a positive number, or the journal cannot replay the call.
            ConfigError: the tool has a policy that is not carried out here.
        """
        if not is_seconds(timeout):
            raise ToolUsageError(
                f"timeout is None or a positive number of seconds, not {timeout!r}"
            )
        name = tool.name if isinstance(tool, Tool) else tool
        call = ToolCall(call_id or uuid.uuid4().hex, name, {} if args is None else args)
        found = tool if isinstance(tool, Tool) else self.registry.get(name)
        result = await _finish(self._claim(call, found, ctx, timeout))
        if result.ok:
            return result.value
        raise _failure(result) from result.cause

    async def run_call(
        self, call: ToolCall, ctx: RunContext | None = None, *, registry: Registry | None = None
    ) -> ToolResult:
        """How the call ended; failures are in the result.

        Raises:
            ToolUsageError: this is no `ToolCall`, or the journal cannot replay it.
            ConfigError: the tool has a policy that is not carried out here.
        """
        return await _finish(self._find_and_claim(call, ctx, registry))

    async def run_many(
        self,
        calls: Iterable[ToolCall],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
        registry: Registry | None = None,
    ) -> list[ToolResult]:
        """How each call ended, in input order; at most `concurrency` run at once.

        With `on_error="collect"` every call runs. With "fail_fast" the first failed one stops the others, and those
        that did not end have a result of status "cancelled".

        Raises:
            ToolUsageError: `on_error` or `concurrency` is wrong, something is no `ToolCall`, or the journal cannot
                replay a call; nothing ran.
            ConfigError: a tool has a policy that is not carried out here; nothing ran.
        """
        if on_error not in get_args(OnError):
            raise ToolUsageError(f"on_error is 'collect' or 'fail_fast', not {on_error!r}")
        check_concurrency(concurrency)
        batch = [self._find_and_claim(call, ctx, registry) for call in calls]
        return await run_batch(
            batch, concurrency=concurrency or self._concurrency, on_error=on_error
        )

    def _find_and_claim(
        self, call: ToolCall, ctx: RunContext | None, registry: Registry | None
    ) -> Claimed | ToolResult:
        if not isinstance(call, ToolCall):
            raise ToolUsageError(f"{call!r} is no ToolCall")
        found = (self.registry if registry is None else registry).get(call.name)
        return self._claim(call, found, ctx, None)

    def _claim(
        self, call: ToolCall, tool: Tool | None, ctx: RunContext | None, timeout: float | None
    ) -> Claimed | ToolResult:
        """The claimed call; the timeout nearest to the call counts."""
        if timeout is None:
            timeout = self._timeout if tool is None or tool.timeout is None else tool.timeout
        return claim_call(call, tool, ctx, timeout_s=timeout)


async def _finish(claimed: Claimed | ToolResult) -> ToolResult:
    return claimed if isinstance(claimed, ToolResult) else await run_call(claimed)


def _failure(result: ToolResult) -> ToolFailed:
    kind = result.error.kind if result.error else ""
    message = str(result.error or result.status)
    return _FAILURES.get(kind, ToolFailed)(result.tool, result.call_id, message)
