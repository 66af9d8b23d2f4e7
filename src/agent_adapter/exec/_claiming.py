"""Claims: an executor's calls get their place in the visit one by one, and run once they have it."""

from collections.abc import Sequence

from agent_adapter.approvals import ApprovalPort
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import ToolUsageError
from agent_adapter.exec._batch import OnError, run_batch
from agent_adapter.exec._call import claim_call, run_call
from agent_adapter.exec._calling import calls_of
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._policies import Policies
from agent_adapter.limits import RunLimits
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool


class Claims:
    """The part of an executor that plans and loops drive: it claims calls and runs those that are claimed."""

    def __init__(
        self,
        registry: Registry,
        policies: Policies,
        *,
        timeout: float | None,
        concurrency: int,
    ) -> None:
        self._registry = registry
        self._policies = policies
        self._timeout = timeout
        self._concurrency = concurrency

    @property
    def registry(self) -> Registry:
        """Where tools are looked up."""
        return self._registry

    @property
    def approvals(self) -> ApprovalPort | None:
        """How a person is asked."""
        return self._policies.approvals

    @property
    def limits(self) -> RunLimits | None:
        """What one run may use, beside the limits of its context."""
        return self._policies.limits

    def claim(
        self,
        call: ToolCall,
        ctx: RunContext | None = None,
        registry: Registry | None = None,
        *,
        step: str | None = None,
        journal: Journal | None = None,
    ) -> Claimed | ToolResult:
        """The call with its place in the visit, for `run_claimed`; the result of one that cannot even start.

        For whoever drives many calls: claiming awaits nothing, so the order of claims is the order of the program.

        Raises:
            ToolUsageError: this is no `ToolCall`, or the journal cannot replay it.
            ConfigError: the tool needs approval, and nobody can be asked.
        """
        if not isinstance(call, ToolCall):
            raise ToolUsageError(f"{call!r} is no ToolCall")
        found = (self.registry if registry is None else registry).get(call.name)
        return claim_call(
            call,
            found,
            ctx or RunContext(),
            self._policies,
            timeout_s=self._time(found, None),
            step=step,
            journal=journal,
        )

    async def run_claimed(
        self,
        batch: Sequence[Claimed | ToolResult],
        concurrency: int | None = None,
        on_error: OnError = "collect",
    ) -> list[ToolResult]:
        """How each claimed call ended, in the order of the batch; see `Executor.run_many`, also for what is raised."""
        with calls_of(self):
            return await run_batch(
                batch, concurrency=concurrency or self._concurrency, on_error=on_error
            )

    async def _finish(self, claimed: Claimed | ToolResult) -> ToolResult:
        if isinstance(claimed, ToolResult):
            return claimed
        with calls_of(self):
            return await run_call(claimed)

    def _time(self, tool: Tool | None, timeout: float | None) -> float | None:
        """The timeout nearest to the call counts."""
        if timeout is not None:
            return timeout
        if tool is None or tool.timeout is not None:
            return None if tool is None else tool.timeout
        # An agent takes as long as its calls do, and those have their own.
        return None if tool.kind == "agent" else self._timeout
