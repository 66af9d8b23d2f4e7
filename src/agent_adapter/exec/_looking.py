"""Looking into a stored turn: which tool, and which executor, stands behind a record's key. Only reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_adapter._canonical import decode
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._driving import RunsTools
from agent_adapter.exec._entries import Entry
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._journal import make_journal
from agent_adapter.exec._loop_messages import from_plain_message
from agent_adapter.exec._replies import REPLY
from agent_adapter.exec._visit import visit_scope
from agent_adapter.exec.checkpoints import CallRecord
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

Entries = Mapping[str, tuple[CallRecord, Entry]]

# A call's part of a key is `tool:digest:occurrence`, a child's is `name:number`.
_CALL_COLONS = 2


@dataclass(frozen=True)
class Replied:
    """A reply of a model, and where the records of its calls stand.

    Attributes:
        path: what the keys of those records begin with.
        calls: what it asked for.
        registry: the tools of whoever asked the model; None when nobody can tell.
        executor: what runs them.
    """

    path: str
    calls: Sequence[ToolCall]
    registry: Registry | None
    executor: Executor


@dataclass(frozen=True)
class Behind:
    """What stands behind a key.

    Attributes:
        tool: the call's tool; None when it is gone, or when nobody can tell.
        executor: what runs it.
        gone: the tools are known, and it is not among them.
        tools: the tools that the call's tool itself runs, None when it runs none or nobody can tell.
        runner: what runs those, None for `executor`.
    """

    tool: Tool | None
    executor: Executor
    gone: bool = False
    tools: Registry | None = None
    runner: Executor | None = None


def behind(key: str, registry: Registry, executor: Executor) -> Behind:
    """The tool that a record's key names, looked for through the agents that it stands in."""
    tools: Registry | None = registry
    tool: Tool | None = None
    runner: Executor | None = None
    for part in key.split("/"):
        if part.count(":") != _CALL_COLONS:
            continue
        if tools is None:
            return Behind(None, executor)
        name = part.partition(":")[0]
        executor = runner or executor
        tool = tools.get(name)
        if tool is None:
            # A reply of the model has no tool.
            return Behind(None, executor, gone=name != REPLY)
        body: object = tool.fn
        tools, runner = (body.tools, body.executor) if isinstance(body, RunsTools) else (None, None)
    return Behind(tool, executor, tools=tools, runner=runner)


def replies(
    top: Sequence[ToolCall], registry: Registry, executor: Executor, entries: Entries
) -> Iterator[Replied]:
    """The reply of the present turn, and every recorded reply of an agent inside it."""
    yield Replied("", top, registry, executor)
    for key, (record, entry) in entries.items():
        if record.tool != REPLY or entry.state != "done":
            continue
        place, _, _ = key.rpartition("/")
        # `…/agent:digest:0/loop:0/@model:…` stands in the loop of that agent.
        agent = behind(place, registry, executor)
        turn = entry.arguments["turn"] + 1
        message = from_plain_message(decode(entry.outcome["entry"]["value"])["message"])
        yield Replied(
            f"{place}/turn-{turn}:0/", message.calls, agent.tools, agent.runner or agent.executor
        )


def keys_of(calls: Sequence[ToolCall], registry: Registry, executor: Executor) -> list[str | None]:
    """The key of each call of a turn, in call order; None for one that cannot even start."""
    journal = make_journal()
    ctx = RunContext()
    with visit_scope(None, journal):
        claimed: list[Claimed | ToolResult] = [
            executor.claim(call, ctx, registry) for call in calls
        ]
    return [
        item.place.slot.key if isinstance(item, Claimed) and item.place is not None else None
        for item in claimed
    ]
