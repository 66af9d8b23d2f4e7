"""What every way in shares: from a tool call in a visit to a driven call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import Command

from agent_adapter.exec.integration import CallId, Ledger
from agent_adapter_langgraph import _approval
from agent_adapter_langgraph._approval import Answers
from agent_adapter_langgraph._barrier import Barrier
from agent_adapter_langgraph._drive import Call, Drive
from agent_adapter_langgraph._identity import (
    NodeScope,
    Visit,
    find_message,
    message_call,
    named_call,
    occurrence_of,
    stable_hash,
    visit_call,
    visit_of,
)
from agent_adapter_langgraph._messages import known_types
from agent_adapter_langgraph._settings import Policies
from agent_adapter_langgraph._signals import stops

OnFork = Literal["replay", "rerun", "ask"]


@dataclass(frozen=True)
class ToolUse:
    """One use of a tool as the framework presents it."""

    tool: BaseTool | None
    name: str
    model_id: str | None
    arguments: Any
    position: int = 0


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
        self.drive = Drive(ledger, _mark if streaming == "mark" else _drop)

    def protects(self, visit: Visit, use: ToolUse) -> bool:
        """Whether this use is recorded: not that of a read-only tool, and not without a place to find it again.

        Raises:
            ConfigError: nothing could find the record again.
        """
        return not self.policies.of(use.name, use.tool).read_only and self.barrier.protects(visit)

    def identify(
        self, visit: Visit, use: ToolUse, messages: Sequence[Any], scope: NodeScope | None = None
    ) -> CallId:
        """Which call this use is.

        Raises:
            NotSealable: an argument has no exact stored form; nothing ran.
        """
        with stops():
            found = (
                find_message(messages, use.model_id, use.name) if use.model_id is not None else None
            )
            if visit.run_name is not None and use.model_id is not None and messages:
                occurrence = occurrence_of(messages, use.model_id, use.name, use.arguments)
                return named_call(visit, use.name, use.model_id, use.arguments, occurrence)
            if found is not None and use.model_id is not None:
                return message_call(visit, found[0], use.name, use.model_id, use.arguments)
            return visit_call(visit, use.name, use.model_id, use.arguments, scope=scope)

    def call(self, visit: Visit, use: ToolUse, name: CallId, answers: Answers) -> Call:
        """The use as a call to drive."""
        return Call(
            id=name,
            policy=self.policies.of(use.name, use.tool),
            model_id=use.model_id,
            namespace=visit.namespace,
            known=known_types(use.tool, self.types),
            answers=answers,
            position=use.position,
            finished=_named(f"tool-{stable_hash(name.run, name.key)[:32]}"),
            on_fork=self.on_fork,
        )

    async def answers(self, visit: Visit, calls: Sequence[CallId]) -> Answers:
        """What people said to the open questions of the calls of one task."""
        with stops():
            return await _approval.read(self.ledger, visit, calls)

    @staticmethod
    def visit(config: RunnableConfig) -> Visit:
        """The visit that the config belongs to.

        Raises:
            ConfigError: the run name is malformed.
        """
        with stops():
            return visit_of(config)


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
