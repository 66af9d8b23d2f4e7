"""Agents as tools: an agent that is called like a tool runs inside the calling run, as deep as it may."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from agent_adapter.context import RunContext
from agent_adapter.errors import AgentDepthExceeded, ToolUsageError
from agent_adapter.exec._calling import calling_executor
from agent_adapter.exec._driving import ToolLoopResult
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._handoff_model import HANDOFF
from agent_adapter.exec._loop import run_tool_loop
from agent_adapter.exec._parked import Parked
from agent_adapter.limits import RunLimits
from agent_adapter.models import Message, Model
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

DEFAULT_MAX_DEPTH = 4

_depth: ContextVar[int] = ContextVar("agent_adapter_agent_depth", default=0)


@dataclass(kw_only=True)
class LoopAgent:
    """A model with tools and instructions: what `run_tool_loop` needs to work on a task.

    Attributes:
        model: the model.
        tools: what it may call.
        instructions: the system message, none when empty.
        max_steps: model calls for one task.
        output_schema: as in `run_tool_loop`; then the agent's answer is the parsed value.
        request_options: passed on to the model.
    """

    model: Model
    tools: Registry
    instructions: str = ""
    max_steps: int = 8
    output_schema: Any = None
    request_options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tools, Registry):
            self.tools = Registry(self.tools)

    def first_messages(self, task: str) -> list[Message]:
        """The conversation that a task begins with: the instructions, where there are any, and the task."""
        system = [Message("system", self.instructions)] if self.instructions else []
        return [*system, Message("user", task)]


Agent = LoopAgent | Callable[[str, RunContext], Awaitable[Any]]


def agent_depth() -> int:
    """How many agents that were called as tools the present code is inside of; 0 outside all."""
    return _depth.get()


def agent_tool(
    agent: Agent,
    *,
    name: str,
    description: str,
    executor: Executor | None = None,
    max_depth: int = DEFAULT_MAX_DEPTH,
    timeout: float | None = None,
    confirm: bool = False,
    tags: Sequence[str] = (),
) -> Tool:
    """A tool of kind "agent" with the one argument `task`; its value is the agent's answer.

    The agent works inside the calling run: the same context, limits, approvals and cancellation; its replies and calls are
    journaled one by one where the run is, so that it is entered again after a crash or a pause, and none of them twice.

    Args:
        agent: a `LoopAgent`, or an async function of `(task, ctx)`.
        name: the tool's name.
        description: for the model that calls it.
        executor: runs the agent's calls; the calling executor when it is left out.
        max_depth: how many agents deep it may be called.
        timeout: seconds for a task.
        confirm: a person approves each task before the agent's model is called.
        tags: words by which programs recognise the tool.

    Raises:
        ToolUsageError: `agent` is neither, or `name` or `max_depth` is wrong.
        ConfigError: `timeout`, `confirm` or a tag is wrong.
    """
    if type(max_depth) is not int or max_depth < 1:
        raise ToolUsageError(f"max_depth is a number from 1, not {max_depth!r}")
    if not isinstance(agent, LoopAgent) and not _is_async(agent):
        raise ToolUsageError(
            f"an agent is a LoopAgent or an async function of (task, ctx), not {agent!r}"
        )
    return Tool(
        name=name,
        description=description,
        fn=AgentBody(agent, name, executor, max_depth),
        kind="agent",
        returns=_answer_type(agent),
        timeout=timeout,
        confirm=confirm,
        tags=tuple(tags),
    )


def handoff(
    to: Agent,
    *,
    name: str,
    description: str,
    executor: Executor | None = None,
    max_depth: int = DEFAULT_MAX_DEPTH,
    timeout: float | None = None,
) -> Tool:
    """An agent tool whose answer ends the caller's turn: with a `HandoffModel` it is the caller's final reply.

    Args:
        to: who takes over.
        name: as in `agent_tool`.
        description: as in `agent_tool`.
        executor: as in `agent_tool`.
        max_depth: as in `agent_tool`.
        timeout: as in `agent_tool`.

    Raises:
        ToolUsageError: as in `agent_tool`.
        ConfigError: as in `agent_tool`.
    """
    return agent_tool(
        to,
        name=name,
        description=description,
        executor=executor,
        max_depth=max_depth,
        timeout=timeout,
        tags=(HANDOFF,),
    )


@dataclass(frozen=True)
class AgentBody:
    """What runs when an agent is called as a tool.

    Attributes:
        agent: who works on the task.
        name: of the tool.
        executor: runs its calls, None for the calling one.
        max_depth: how deep it may be called.
    """

    agent: Agent
    name: str
    executor: Executor | None
    max_depth: int

    @property
    def tools(self) -> Registry | None:
        """The agent's tools, None when nobody can tell."""
        return self.agent.tools if isinstance(self.agent, LoopAgent) else None

    async def __call__(self, task: str, ctx: RunContext) -> Any:
        """The agent's answer to the task.

        Raises:
            AgentDepthExceeded: it was called deeper than it may be; nothing ran.
            Parked: a call inside waits for a person.
        """
        calling = calling_executor()
        limits = (ctx.limits, None if calling is None else calling.limits)
        with _deeper(self.name, self.max_depth, limits):
            if not isinstance(self.agent, LoopAgent):
                return await self.agent(task, ctx)
            result = await self._work(self.agent, task, ctx)
        if result.status == "paused":
            raise Parked(result.pending)
        if self.agent.output_schema is not None:
            return result.parsed
        return result.reply.text if result.reply else ""

    async def _work(self, agent: LoopAgent, task: str, ctx: RunContext) -> ToolLoopResult:
        return await run_tool_loop(
            agent.model,
            agent.tools,
            agent.first_messages(task),
            executor=self.executor or calling_executor(),
            ctx=ctx,
            max_steps=agent.max_steps,
            output_schema=agent.output_schema,
            request_options=agent.request_options,
            stage=self.name,
        )


def _is_async(agent: object) -> bool:
    return inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
        getattr(agent, "__call__", None)  # noqa: B004 - an object with an async __call__ is one too
    )


def _answer_type(agent: Agent) -> Any:
    """What a recorded answer is rebuilt as."""
    if not isinstance(agent, LoopAgent):
        return Any
    schema = agent.output_schema
    return str if schema is None else Any if isinstance(schema, Mapping) else schema


@contextmanager
def _deeper(name: str, max_depth: int, limits: Iterable[RunLimits | None]) -> Iterator[None]:
    depth = _depth.get()
    given = [limit.max_agent_depth for limit in limits if limit is not None]
    most = min([max_depth, *(each for each in given if each is not None)])
    if depth >= most:
        raise AgentDepthExceeded(
            f"agent {name!r} is called {depth} agents deep, and may be called {most} deep at most"
        )
    token = _depth.set(depth + 1)
    try:
        yield
    finally:
        _depth.reset(token)
