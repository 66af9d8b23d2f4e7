"""Loop: one loop's settings, and its way from a state to its end; what decides is `_loop_state`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from agent_adapter.approvals import ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import ConfigError, ToolUsageError
from agent_adapter.exec._asking import Asking, Compression, OnText, Output
from agent_adapter.exec._defaults import runner_for
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._gather import check_concurrency
from agent_adapter.exec._loop_durable import Durable
from agent_adapter.exec._loop_messages import begun_with
from agent_adapter.exec._loop_state import Answered, LoopState, Paused, Replied, advance
from agent_adapter.exec._loop_store import View
from agent_adapter.exec._replies import NextReply, Replies
from agent_adapter.exec._run_sinks import Listener, listening
from agent_adapter.exec._turn import Turns
from agent_adapter.limits import Meter, StepsUsedUp, current_meter, meter_scope
from agent_adapter.models import Message, Model, ModelReply, Usage
from agent_adapter.policies import Sink
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

Tools = Registry | Iterable[Tool]


@runtime_checkable
class RunsTools(Protocol):
    """The body of a tool that runs tools itself (an agent), as far as others may look into it."""

    @property
    def tools(self) -> Registry | None:
        """Its tools, None when nobody can tell."""
        ...

    @property
    def executor(self) -> Executor | None:
        """What runs them, None for the calling executor."""
        ...


@dataclass(frozen=True, kw_only=True)
class ToolLoopResult:
    """How a loop ended, or where it waits.

    Attributes:
        messages: the full history, whatever compression showed to the model.
        reply: the model's last reply.
        tool_results: the results of the calls that ran now, in call order; what was replayed is in the messages alone.
        usage: of the model calls that were made now.
        parsed: the final reply, read as the output schema says.
        status: "done", or "paused" while calls wait for a person. (A denial is told to the model.)
        pending: what a paused loop waits for.
        run_id: the durable run, None for a loop without checkpoints.
        steps: the model calls of the whole run.
    """

    messages: tuple[Message, ...]
    reply: ModelReply | None
    tool_results: tuple[ToolResult, ...] = ()
    usage: Usage = field(default_factory=Usage)
    parsed: Any = None
    status: Literal["done", "paused"] = "done"
    pending: tuple[ApprovalRequest, ...] = ()
    run_id: str | None = None
    steps: int = 0


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop's settings, and its way from a state to its end."""

    asking: Asking
    executor: Executor
    ctx: RunContext
    max_steps: int
    concurrency: int | None
    on_event: Sink | None

    @classmethod
    def of(
        cls,
        model: Model,
        registry: Tools,
        *,
        executor: Executor | None,
        ctx: RunContext | None,
        max_steps: int,
        output_schema: Any,
        tool_choice: str,
        concurrency: int | None,
        stage: str,
        request_options: Mapping[str, Any] | None,
        compression: Compression | None,
        on_text: OnText | None,
        on_event: Sink | None,
    ) -> "Loop":
        """The loop of these arguments.

        Raises:
            ToolUsageError: one is wrong.
            ConfigError: `output_schema` is neither a type nor a JSON schema.
        """
        if type(max_steps) is not int or max_steps < 1:
            raise ToolUsageError(f"max_steps is a number from 1, not {max_steps!r}")
        if not stage:
            raise ToolUsageError(f"stage is a name, not {stage!r}")
        check_concurrency(concurrency)
        given: object = registry
        if not isinstance(given, Iterable):
            raise ToolUsageError(f"registry is a Registry or a list of tools, not {registry!r}")
        tools = registry if isinstance(registry, Registry) else Registry(registry)
        if tool_choice not in ("auto", "none", "required") and tool_choice not in tools:
            raise ToolUsageError(
                f"tool_choice is 'auto', 'none', 'required' or a tool's name, not {tool_choice!r}"
            )
        asking = Asking(
            model=model,
            registry=tools,
            tool_choice=tool_choice,
            output=Output(output_schema),
            options=dict(request_options or {}),
            stage=stage,
            compression=compression,
            on_text=on_text,
        )
        return cls(
            asking=asking,
            executor=runner_for(executor),
            ctx=RunContext() if ctx is None else ctx,
            max_steps=max_steps,
            concurrency=concurrency,
            on_event=on_event,
        )

    def check_approvals(self) -> None:
        """Nothing, when somebody can be asked for every approval that the loop's tools need.

        Raises:
            ConfigError: a tool needs one, and the executor has no port.
        """
        name = _asking_tool(self.asking.registry, self.executor, set())
        if name is not None:
            raise ConfigError(
                f"tool {name!r} needs a person's approval and nobody can be asked: "
                "give the executor a port, Executor(approvals=…)"
            )

    async def run(
        self, state: LoopState, durable: Durable | None = None, view: View | None = None
    ) -> ToolLoopResult:
        """The loop's end, or its pause.

        Raises:
            Exception: whatever ends a loop that has begun, see `run_tool_loop`.
        """
        ctx = self.ctx
        if durable is not None and ctx.run_id != durable.kept.run_id:
            ctx = replace(ctx, run_id=durable.kept.run_id)
        meter = self._meter(ctx, durable)
        limits = (self.executor.limits, ctx.limits)
        turns = Turns(
            executor=self.executor,
            registry=self.asking.registry,
            ctx=ctx,
            concurrency=self.concurrency,
            meter=meter,
            durable=durable,
            name=f"loop-{begun_with(self.asking.stage, state.messages)}",
        )
        replies = Replies(turns.journal, meter, limits)
        results: list[ToolResult] = []
        usage = Usage()
        listener = Listener(self.on_event) if self.on_event else None
        with meter_scope(meter), listening(listener):
            while True:
                if state.phase == "asking":
                    state, found = await self._ask(replies, state, view)
                    view = found.view
                    usage = usage + found.reply.usage if found.fresh else usage
                    if state.phase == "ended":
                        parsed = self.asking.output.parse(found.reply.text)
                        if durable is not None:
                            await durable.save(state, meter.used(), view)
                        return self._result(state, results, usage, durable, parsed=parsed)
                    if durable is not None:
                        durable.begin_turn(state, meter.used(), view)
                turn = await turns.run(state)
                if listener is not None:
                    listener.check()
                results += [result for result in turn.results if not result.replayed]
                if turn.pending:
                    state = advance(state, Paused())
                    if durable is not None:
                        used = {**durable.used, "seconds": meter.used()["seconds"]}
                        await durable.save(state, used, view)
                    return self._result(state, results, usage, durable, pending=turn.pending)
                state = advance(state, Answered(turn.messages))

    @staticmethod
    def _meter(ctx: RunContext, durable: Durable | None) -> Meter:
        """What the loop counts on: its run, or the one around it; a durable run in another one is a part of that."""
        around = current_meter()
        if durable is None:
            return around or ctx.meter
        meter = ctx.meter if around is None else Meter(around)
        if durable.recovered:
            meter.restore(durable.used)
        return meter

    async def _ask(
        self, replies: Replies, state: LoopState, view: View | None
    ) -> tuple[LoopState, NextReply]:
        """The state with the next reply, and that reply."""
        self.check_steps(state)
        found = await replies.next(self.asking, state, view)
        if found.first is not None:
            state = replace(state, messages=found.first)
        return advance(state, Replied(found.reply)), found

    def check_steps(self, state: LoopState) -> None:
        """Nothing, while the model may be asked again.

        Raises:
            RunLimitExceeded: `max_steps` is reached.
        """
        if state.turn >= self.max_steps:
            raise StepsUsedUp(
                f"max_steps of {self.max_steps} is reached: the model was asked {state.turn} times; "
                "a higher max_steps goes on"
            )

    def paused(
        self, state: LoopState, run_id: str, pending: tuple[ApprovalRequest, ...]
    ) -> ToolLoopResult:
        """The result of a stored loop that still waits; nothing ran."""
        return ToolLoopResult(
            messages=state.messages,
            reply=state.reply,
            status="paused",
            pending=pending,
            run_id=run_id,
            steps=state.turn,
        )

    @staticmethod
    def _result(
        state: LoopState,
        results: list[ToolResult],
        usage: Usage,
        durable: Durable | None,
        *,
        parsed: Any = None,
        pending: tuple[ApprovalRequest, ...] = (),
    ) -> ToolLoopResult:
        ended = [result for result in results if result.status != "pending"]
        return ToolLoopResult(
            messages=state.messages,
            reply=state.reply,
            tool_results=tuple(ended),
            usage=usage,
            parsed=parsed,
            status="paused" if pending else "done",
            pending=pending,
            run_id=durable.kept.run_id if durable else None,
            steps=state.turn,
        )


def _asking_tool(tools: Registry, executor: Executor, seen: set[int]) -> str | None:
    """A tool that asks a person where nobody can be asked, also among those of agents that are called as tools."""
    seen.add(id(tools))
    for tool in tools:
        if tool.confirm is not False and executor.approvals is None:
            return tool.name
        if isinstance(tool.fn, RunsTools) and tool.fn.tools is not None:
            # Agents may call each other.
            if id(tool.fn.tools) in seen:
                continue
            runner = tool.fn.executor or executor
            if (name := _asking_tool(tool.fn.tools, runner, seen)) is not None:
                return name
    return None
