"""Executor: runs tool calls, alone or many at once, through their policies and the journal of the present visit."""

import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_adapter._seconds import is_seconds
from agent_adapter.approvals import ApprovalPort, ApprovalRequest
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import ConfigError, ToolUsageError
from agent_adapter.exec._backoff import Backoff
from agent_adapter.exec._batch import OnError, check_on_error
from agent_adapter.exec._call import claim_call
from agent_adapter.exec._calling import calling_executor
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._claiming import Claims
from agent_adapter.exec._failures import failure_of
from agent_adapter.exec._gather import check_concurrency
from agent_adapter.exec._parked import Parked
from agent_adapter.exec._plan import run_plan
from agent_adapter.exec._policies import Policies
from agent_adapter.exec._resume import Verdict, decide
from agent_adapter.exec._step import Step
from agent_adapter.exec._sync import SyncTwins
from agent_adapter.limits import RunLimits
from agent_adapter.policies import AnyGuard, Cache, Hook, MemoryCache, Sink
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool


class Executor(Claims, SyncTwins):
    """Runs calls of the tools of a registry.

    Each call passes, in this order: the tool is found, the arguments are validated, a recorded result is replayed;
    else guards, limits, approval by a person, the cache, the attempts of the body, the guards of its value.

    Inside a visit (`visit_scope`) every call has a place in the visit's journal: a call that finished in an earlier
    execution of the visit is answered from the record. Outside one nothing is recorded. Control flow and what is wrong
    with a stored run (`CheckpointError`) leave every method as they are and become no result.

    Args:
        registry: where tools are looked up; a list of tools makes one.
        approvals: how a person is asked.
        cache: where results of tools that set `cache` wait for equal calls; in this process by default. Share one
            between executors only if their guards are the same: what it holds has passed them.
        guards: around every call, outside of the tool's own.
        hooks: told of every call that is carried out.
        retry: attempts in all, where the tool does not say. Only calls that can do no harm twice are tried again: the
            tool is idempotent or read only, the body never began, or its error is among `did_not_happen`.
        backoff: how long to wait between attempts.
        timeout: seconds for each attempt, where neither the tool nor the call says.
        concurrency: how many calls of one `run_many` run at once.
        limits: what one run (one `RunContext`) may use, beside the limits of the context.
        sinks: functions that get the events `ToolStarted`, `ToolRetried` and `ToolEnded`.
        rng: chance, for the backoff.

    Raises:
        ConfigError: a setting has a value that it cannot have.
    """

    def __init__(
        self,
        registry: Registry | Iterable[Tool] | None = None,
        *,
        approvals: ApprovalPort | None = None,
        cache: Cache | None = None,
        guards: Sequence[AnyGuard] = (),
        hooks: Sequence[Hook] = (),
        retry: int | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - a frozen value
        timeout: float | None = None,
        concurrency: int = 8,
        limits: RunLimits | None = None,
        sinks: Sequence[Sink] = (),
        rng: random.Random | None = None,
    ) -> None:
        if not is_seconds(timeout):
            raise ConfigError(f"timeout is None or a positive number of seconds, not {timeout!r}")
        if type(concurrency) is not int or concurrency < 1:
            raise ConfigError(f"concurrency is a number from 1, not {concurrency!r}")
        policies = Policies(
            approvals=approvals,
            cache=MemoryCache() if cache is None else cache,
            guards=guards,
            hooks=hooks,
            retry=retry,
            backoff=backoff,
            limits=limits,
            sinks=sinks,
            rng=rng or random.Random(),  # noqa: S311 - spreads retries, protects nothing
        )
        super().__init__(_registry(registry), policies, timeout=timeout, concurrency=concurrency)

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
            ToolDenied: a guard or a person refused the call, or its value is withheld.
            ApprovalPending: the call waits for a person's decision.
            ToolTimeout: it did not end in time; a sync tool's thread may still be running.
            ToolFailed: it raised; the cause is its own exception where this process saw it.
            RunLimitExceeded: a limit of the run is reached; the body did not run.
            ApprovalConflict: the decision about the call was used already, or somebody decided differently.
            ToolUsageError: `timeout` is not a positive number, or the journal cannot replay the call.
            ConfigError: the tool needs approval, and nobody can be asked.
        """
        if not is_seconds(timeout):
            raise ToolUsageError(
                f"timeout is None or a positive number of seconds, not {timeout!r}"
            )
        name = tool.name if isinstance(tool, Tool) else tool
        call = ToolCall(call_id or uuid.uuid4().hex, name, {} if args is None else args)
        found = tool if isinstance(tool, Tool) else self.registry.get(name)
        claimed = claim_call(
            call,
            found,
            ctx or RunContext(),
            self._policies,
            timeout_s=self._time(found, timeout),
            named=call_id is not None,
        )
        result = await self._finish(claimed)
        if result.ok:
            return result.value
        parked: tuple[ApprovalRequest, ...] = ()
        if isinstance(claimed, Claimed) and claimed.parked:
            parked = claimed.parked
            if claimed.place is not None and calling_executor() is not None:
                # Inside a body of a visit: its `except Exception` must not hold a pause.
                raise Parked(parked)
        raise failure_of(result, parked) from result.cause

    async def run_call(
        self, call: ToolCall, ctx: RunContext | None = None, *, registry: Registry | None = None
    ) -> ToolResult:
        """How the call ended; failures are in the result.

        Raises:
            RunLimitExceeded: a limit of the run is reached; the body did not run.
            ApprovalConflict: the decision about the call was used already, or somebody decided differently.
            ToolUsageError: this is no `ToolCall`, or the journal cannot replay it.
            ConfigError: the tool needs approval, and nobody can be asked.
        """
        return await self._finish(self.claim(call, ctx, registry))

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
            RunLimitExceeded: a limit of the run is reached; the calls that ran were cancelled and have ended.
            ApprovalConflict: the decision about a call was used already, or somebody decided differently.
            ToolUsageError: `on_error` or `concurrency` is wrong, something is no `ToolCall`, or the journal cannot
                replay a call; nothing ran.
            ConfigError: a tool needs approval, and nobody can be asked; nothing ran.
        """
        check_on_error(on_error)
        check_concurrency(concurrency)
        run = ctx or RunContext()
        batch = [self.claim(call, run, registry) for call in calls]
        return await self.run_claimed(batch, concurrency, on_error)

    async def run_plan(
        self,
        steps: Iterable[Step],
        ctx: RunContext | None = None,
        *,
        concurrency: int | None = None,
        on_error: OnError = "collect",
    ) -> dict[str, ToolResult]:
        """How each step of a plan ended, by its id, in input order; independent steps run side by side.

        A step runs when all that it needs has a value; when one of its needs has none, or its `when` says False, it is
        skipped: status "cancelled", error kind "skipped". In a visit the steps are journaled, each under its id.

        Raises:
            ToolUsageError: something is no `Step`, two have one id, a need is no step, steps need each other in a
                circle, or `concurrency` or `on_error` is wrong; nothing ran. Or the journal cannot replay a call.
            RunLimitExceeded: a limit of the run is reached; the steps that ran were cancelled and have ended.
            ConfigError: a tool needs approval, and nobody can be asked.
        """
        return await run_plan(
            self,
            steps,
            ctx or RunContext(),
            concurrency=self._concurrency if concurrency is None else concurrency,
            on_error=on_error,
        )

    async def resume(
        self,
        approval_id: str,
        decision: Verdict = None,
        ctx: RunContext | None = None,
        *,
        decided_by: str = "",
        reason: str = "",
    ) -> ToolResult:
        """How a parked call ended, which runs now and once: decide it, or use what is decided already.

        Args:
            approval_id: the request's id, which a pending result has in `approval`.
            decision: True, False, or an `ApprovalDecision` (with edited arguments, for example); None for the one that
                is stored.
            ctx: the run that the call belongs to.
            decided_by: who decided.
            reason: why; a denial's reason stands in the result.

        Raises:
            ConfigError: the executor's port keeps no requests.
            ToolUsageError: nothing is stored under the id, a run parked it (which has to be recovered), its tool is not
                registered or takes other arguments by now, or nobody has decided; nothing ran and nothing was decided.
            ApprovalConflict: it was decided differently, has expired, or the decision was used already; nothing ran.
            RunLimitExceeded: a limit of the run is reached; the body did not run.
        """
        decided = await decide(
            self.approvals,
            self.registry,
            approval_id,
            decision,
            decided_by=decided_by,
            reason=reason,
        )
        if isinstance(decided, ToolResult):
            return decided
        call, tool, resumed = decided
        claimed = claim_call(
            call,
            tool,
            ctx or RunContext(),
            self._policies,
            timeout_s=self._time(tool, None),
            resumed=resumed,
        )
        return await self._finish(claimed)


def _registry(tools: Registry | Iterable[Tool] | None) -> Registry:
    if isinstance(tools, Registry):
        return tools
    try:
        return Registry(() if tools is None else tools)
    except (TypeError, ToolUsageError) as exc:
        raise ConfigError(
            f"registry is a Registry or a list of tools, not {tools!r}: {exc}"
        ) from exc
