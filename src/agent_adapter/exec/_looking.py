"""Looking into a stored turn: which tool, and which executor, stands behind a record's key. Only reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._driving import RunsTools
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._journal import make_journal
from agent_adapter.exec._replies import REPLY
from agent_adapter.exec._visit import visit_scope
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool

# A call's part of a key is `tool:digest:occurrence`, a child's is `name:number`.
_CALL_COLONS = 2


@dataclass(frozen=True)
class Behind:
    """What stands behind a key.

    Attributes:
        tool: the call's tool; None when it is gone, or when nobody can tell.
        executor: what runs it.
        gone: the tools are known, and it is not among them.
    """

    tool: Tool | None
    executor: Executor
    gone: bool = False


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
    return Behind(tool, executor)


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
