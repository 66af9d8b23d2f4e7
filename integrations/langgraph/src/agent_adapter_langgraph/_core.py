"""What every way in shares: from a tool call in a visit to a driven call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import Command

from agent_adapter import RunContext
from agent_adapter.errors import ConfigError, ToolUsageError
from agent_adapter.exec.integration import CallId, Fits, Ledger, Policies, stable_hash
from agent_adapter.policies import ToolPolicy
from agent_adapter_langgraph import _approval
from agent_adapter_langgraph._approval import Answers
from agent_adapter_langgraph._barrier import Barrier
from agent_adapter_langgraph._drive import Drive
from agent_adapter_langgraph._identity import (
    ToolUse,
    find_message,
    message_call,
    name_note,
    named_call,
    occurrence_of,
    visit_call,
)
from agent_adapter_langgraph._messages import known_types
from agent_adapter_langgraph._probe import Changed, Recorded
from agent_adapter_langgraph._running import Call
from agent_adapter_langgraph._signals import stops
from agent_adapter_langgraph._visit import Visit, visit_of

OnFork = Literal["replay", "rerun", "ask"]


class Core:
    """Turns uses of tools into driven calls.

    Args:
        ledger: where calls are recorded.
        barrier: what has to be stored before a call may start.
        policies: what each tool may do.
        types: classes, beyond messages and what return annotations reach, that results may hold.
        on_fork: what a finished call of another branch of the thread means.
        streaming: `mark` announces replayed calls in the custom stream, `drop` says nothing.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        barrier: Barrier,
        policies: Policies,
        types: Mapping[str, type],
        on_fork: OnFork,
        streaming: Literal["drop", "mark"],
    ) -> None:
        self.ledger = ledger
        self.barrier = barrier
        self.policies = policies
        self.on_fork = on_fork
        self.types = types
        self.tools: dict[str, BaseTool] = {}
        self.drive = Drive(ledger, _mark if streaming == "mark" else _drop)

    def policy_of(self, name: str, tool: BaseTool | None) -> ToolPolicy:
        """The policy under which calls of this tool run; an MCP server's hints stand in the tool's metadata."""
        return self.policies.of(name, getattr(tool, "metadata", None))

    def protection(self, visit: Visit, use: ToolUse) -> Literal["recorded", "read_only", "none"]:
        """Whether this use is recorded: not that of a read-only tool, and not without a place to find it again.

        Raises:
            ConfigError: nothing could find the record again.
        """
        policy = self.policy_of(use.name, use.tool)
        if policy.read_only and policy.confirm is False:
            return "read_only"
        if self.barrier.protects(visit):
            return "recorded"
        if policy.confirm is not False:
            with stops():
                raise ConfigError(
                    f"tool {use.name!r} needs a person's approval, and without a checkpointer or a run name the call could not "
                    "wait for it; nothing ran"
                )
        return "none"

    def identify(self, visit: Visit, use: ToolUse, messages: Sequence[Any]) -> CallId:
        """Which call this use is.

        Raises:
            NotSealable: an argument has no exact stored form; nothing ran.
        """
        with stops():
            if visit.run_name is not None and use.model_id is not None and messages:
                occurrence = occurrence_of(messages, use.model_id, use.name, use.arguments)
                return named_call(visit, use.name, use.model_id, use.arguments, occurrence)
            if use.model_id is not None and (found := find_message(messages, use)) is not None:
                return message_call(visit, found, use)
            return visit_call(visit, use.name, use.model_id, use.arguments)

    def remember(self, tools: Sequence[BaseTool]) -> None:
        """Keep in mind what the results of these tools may hold, for when a record is read without its tool."""
        for tool in tools:
            self.policies.check_name(tool.name)
            self.tools[tool.name] = tool

    def call(self, visit: Visit, use: ToolUse, name: CallId, answers: Answers) -> Call:
        """The use as a call to drive."""
        if use.tool is not None:
            self.remember([use.tool])
        return Call(
            id=name,
            policy=self.policy_of(use.name, use.tool),
            ctx=self.context(visit),
            model_id=use.model_id,
            namespace=visit.namespace,
            known=known_types(use.tool, self.types),
            answers=answers,
            policy_of=lambda tool: self.policy_of(tool.name, tool),
            # A named request that is delivered again gets its answers under new call ids, beside the old ones.
            finished=_named(f"tool-{stable_hash(name.run, name.key, use.model_id or '')[:32]}"),
            storable=_storable(visit.saver),
            on_fork=self.on_fork,
        )

    @staticmethod
    def context(visit: Visit) -> RunContext:
        """The run that calls of this visit belong to."""
        return RunContext(run_id=visit.run_name or visit.thread or None)

    async def answers(self, visit: Visit, calls: Sequence[CallId]) -> Answers:
        """What people said to the open questions of the calls of one task."""
        with stops():
            await self._note_name(visit)
            return await _approval.read(self.ledger, visit, calls)

    async def _note_name(self, visit: Visit) -> None:
        """Keep with the thread that calls of it are recorded under this request's name, for whoever repairs it later."""
        if visit.run_name is None or not visit.thread:
            return
        note = name_note(visit.thread, visit.run_name)
        # Looked for each time: whoever deletes the thread deletes the note with it.
        if await self.ledger.kept(note) is None:
            await self.ledger.keep(note, visit.run_name)

    async def names_in(self, thread: str) -> list[str]:
        """The names of the requests that made calls in this thread."""
        return [str(name) for name in await self.ledger.kept_in(name_note(thread, "").run)]

    @staticmethod
    def visit(config: RunnableConfig) -> Visit:
        """The visit that the config belongs to.

        Raises:
            ConfigError: the run name is malformed.
        """
        with stops():
            return visit_of(config)


class Guard:
    """Stands before the body of a call that is not recorded since its tool is read-only: no other tool may take it."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def begin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> Recorded | Changed | None:
        """Nothing for a read-only tool.

        Raises:
            ToolUsageError: something in between chose a tool that is not read-only; nothing ran.
        """
        del arguments, fits
        if not self._core.policy_of(tool.name, tool).read_only:
            with stops():
                raise ToolUsageError(
                    f"a call of a read-only tool was turned into one of {tool.name!r}, which is not: it cannot be protected "
                    "on the way; nothing ran"
                )
        return None

    async def abegin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> Recorded | Changed | None:
        """As `begin`."""
        return self.begin(arguments, tool, fits=fits)

    def end(self, output: Any, error: BaseException | None, *, began: bool) -> None:
        """Nothing is kept."""

    def inside(self) -> AbstractContextManager[None]:
        """Where the code around the call runs."""
        return nullcontext()

    def scoped(self, config: RunnableConfig) -> RunnableConfig:
        """The config as it is."""
        return config


def _storable(saver: Any) -> Callable[[Any], None]:
    """Raises for a result that the checkpointer cannot store with the state."""
    serde = getattr(saver, "serde", None)

    def check(result: Any) -> None:
        parts = result if isinstance(result, list) else [result]
        # A plain value that an own node was given goes where the node puts it.
        if serde is not None and all(isinstance(part, ToolMessage | Command) for part in parts):
            try:
                serde.dumps_typed(result)
            except Exception as error:
                raise TypeError(f"{_unstorable_part(serde, parts)}: {error}") from error

    return check


def _unstorable_part(serde: Any, parts: Sequence[Any]) -> str:
    """Which part of a result it is that the checkpointer cannot store."""
    for name in ("artifact", "content", "update"):
        for part in parts:
            try:
                serde.dumps_typed(getattr(part, name, None))
            except Exception:  # noqa: BLE001 - this part it is
                return name
    return "result"


def _drop(_: Call) -> None:
    """Say nothing: who listens saw the events when the call ran."""


def _mark(call: Call) -> None:
    from langgraph.config import get_stream_writer

    get_stream_writer()(
        {"type": "tool_replayed", "tool_call_id": call.id.call_id, "name": call.id.tool}
    )


def _named(base: str) -> Callable[[Any], Any]:
    """Gives the result's messages ids that stay the same when the result is replayed."""

    def name(result: Any, suffix: str = "") -> Any:
        if isinstance(result, ToolMessage):
            return result if result.id else result.model_copy(update={"id": base + suffix})
        if isinstance(result, list):
            return [name(item, f"{suffix}-{n}") for n, item in enumerate(result)]
        if isinstance(result, Command) and isinstance(result.update, dict):
            update = {
                key: _each(value, lambda item, n: name(item, f"{suffix}-{n}"))
                for key, value in result.update.items()
            }
            return Command(
                graph=result.graph, update=update, resume=result.resume, goto=result.goto
            )
        return result

    return name


def _each(value: Any, change: Callable[[Any, int], Any]) -> Any:
    if isinstance(value, list) and any(isinstance(item, ToolMessage) for item in value):
        return [
            change(item, n) if isinstance(item, ToolMessage) else item
            for n, item in enumerate(value)
        ]
    return value
