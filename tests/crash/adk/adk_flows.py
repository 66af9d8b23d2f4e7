"""The scenarios whose root is a workflow: agents, tools and functions as its nodes."""

from typing import Any

from adk_kit import Kit, Scenario
from adk_tools import charge, flaky, slow, sluggish, take_effect, wire
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import JoinNode, RetryConfig, Workflow, node

from agent_adapter.policies import ToolPolicy

RETRY = RetryConfig(max_attempts=4, initial_delay=0.0, jitter=0.0)
TIMEOUT_S = 0.7


def agent_node(kit: Kit) -> Any:
    return _agent_node(kit)


def agent_node_drifting(kit: Kit) -> Any:
    return _agent_node(kit, drifts=True)


def _agent_node(kit: Kit, *, drifts: bool = False) -> Any:
    script = [[("charge", "a"), ("slow", "b")], [("charge", "c")]]
    tools = [charge(kit.record), slow(kit.record)]
    first = kit.agent("first", script, tools, drifts=drifts)
    second = kit.agent("second", [[("charge", "d")]], [charge(kit.record)], drifts=drifts)
    return Workflow(name="root", edges=[("START", first, second)])


def agent_node_asking(kit: Kit) -> Any:
    return _agent_node_asking(kit)


def agent_node_asking_drifting(kit: Kit) -> Any:
    return _agent_node_asking(kit, drifts=True)


def _agent_node_asking(kit: Kit, *, drifts: bool = False) -> Any:
    script = [[("wire", "a"), ("wire", "b"), ("charge", "c")]]
    tools = [charge(kit.record), wire(kit.record)]
    first = kit.agent("first", script, tools, drifts=drifts)
    second = kit.agent("second", [[("charge", "d")]], [charge(kit.record)], drifts=drifts)
    return Workflow(name="root", edges=[("START", first, second)])


def agent_nodes(kit: Kit) -> Any:
    tools = [charge(kit.record), slow(kit.record)]
    one = kit.agent("one", [[("charge", "a")], [("slow", "b")]], tools)
    two = kit.agent("two", [[("slow", "c"), ("charge", "d")]], tools)
    return Workflow(name="root", edges=[("START", (one, two), JoinNode(name="both"))])


def agent_nodes_drifting_asking(kit: Kit) -> Any:
    tools = [charge(kit.record), wire(kit.record)]
    one = kit.agent("one", [[("wire", "a")], [("charge", "b")]], tools, drifts=True)
    two = kit.agent("two", [[("charge", "c"), ("wire", "d")]], tools, drifts=True)
    return Workflow(name="root", edges=[("START", (one, two), JoinNode(name="both"))])


def tool_nodes(kit: Kit) -> Any:
    return _tool_nodes(charge(kit.record), slow(kit.record))


def tool_node_asking(kit: Kit) -> Any:
    return _tool_nodes(wire(kit.record), charge(kit.record))


def tool_node_raising(kit: Kit) -> Any:
    """The node's retry: the call is in doubt, and a person decides."""
    return _tool_nodes(flaky(kit.record), charge(kit.record))


def _tool_nodes(first: Any, second: Any) -> Any:
    """Two tools, each after a function that says what it is called with."""

    async def give_a() -> str:
        return "a"

    async def give_b() -> str:
        return "b"

    async def finish() -> str:
        return "finished"

    return Workflow(name="root", edges=[("START", give_a, first, give_b, second, finish)])


def steps(kit: Kit) -> Any:
    async def give(order: str) -> dict[str, Any]:
        return take_effect(kit.record, order)

    async def settle(ctx: ToolContext) -> str:
        for order in ("a", "b"):
            if kit.durable is None:
                await give(order)
            else:
                await kit.durable.step(ctx, give, order)
        return "settled"

    async def after(ctx: ToolContext) -> str:
        await (give("c") if kit.durable is None else kit.durable.step(ctx, give, "c"))
        return "after"

    wrap = (lambda made: made) if kit.durable is None else kit.durable.node
    return Workflow(name="root", edges=[("START", wrap(settle), wrap(after))])


def tool_node_timeout(kit: Kit) -> Any:
    async def give() -> str:
        return "a"

    late = node(sluggish(kit.record), timeout=TIMEOUT_S, retry_config=RETRY)
    return Workflow(name="root", edges=[("START", give, late, _finish)])


def agent_node_timeout(kit: Kit) -> Any:
    agent = kit.agent("first", [[("sluggish", "a")], [("charge", "b")]], _late(kit))
    late = node(agent, timeout=TIMEOUT_S, retry_config=RETRY)
    return Workflow(name="root", edges=[("START", late, _finish)])


def _late(kit: Kit) -> list[Any]:
    return [sluggish(kit.record), charge(kit.record)]


async def _finish() -> str:
    return "finished"


FLOWS = {
    "agent_node": Scenario(agent_node, "a b c d"),
    "agent_node_drifting": Scenario(agent_node_drifting, "a b c d"),
    "agent_node_asking": Scenario(agent_node_asking, "a b c d", approvals=2),
    "agent_node_asking_drifting": Scenario(agent_node_asking_drifting, "a b c d", approvals=2),
    "agent_nodes": Scenario(agent_nodes, "a b c d"),
    "agent_nodes_asking": Scenario(agent_nodes_drifting_asking, "a b c d", approvals=2),
    "tool_nodes": Scenario(tool_nodes, "a b"),
    "tool_node_asking": Scenario(tool_node_asking, "a b", approvals=1),
    "tool_node_policy": Scenario(
        tool_nodes, "a b", policies={"charge": ToolPolicy(confirm=True)}, approvals=1
    ),
    "tool_node_raising": Scenario(tool_node_raising, "a b", raises="flaky a"),
    "steps": Scenario(steps, "a b c"),
    "tool_node_timeout": Scenario(tool_node_timeout, "a"),
    "agent_node_timeout": Scenario(agent_node_timeout, "a b"),
}
