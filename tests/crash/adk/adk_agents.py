"""The scenarios whose root is an agent."""

import os
import sys
from pathlib import Path
from typing import Any

from adk_kit import Kit, Scenario
from adk_model import WAITING
from adk_tools import ask, charge, flaky, look, pay, render, slow, wire
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools import exit_loop
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from mcp import StdioServerParameters

from agent_adapter.policies import ToolPolicy

SERVER = Path(__file__).with_name("adk_server.py")
CONFIRM = {"charge": ToolPolicy(confirm=True)}
GRANT = {"grant": ToolPolicy(confirm=True)}


def simple(script: Any, *tools: Any, **settings: Any) -> Any:
    """The maker of one agent with these tools."""
    return lambda kit: kit.agent("root", script, [tool(kit.record) for tool in tools], **settings)


def sequential(kit: Kit) -> Any:
    tools = [charge(kit.record), slow(kit.record)]
    first = kit.agent("first", [[("charge", "a"), ("slow", "b")]], tools)
    second = kit.agent("second", [[("charge", "c")]], [charge(kit.record)])
    return SequentialAgent(name="root", sub_agents=[first, second])


def parallel(kit: Kit) -> Any:
    first = kit.agent("first", [[("charge", "a")], [("slow", "b")]], _two(kit))
    second = kit.agent("second", [[("slow", "c"), ("charge", "d")]], _two(kit))
    return ParallelAgent(name="root", sub_agents=[first, second])


def parallel_asking(kit: Kit) -> Any:
    first = kit.agent("first", [[("wire", "a")], [("charge", "b")]], _asking(kit))
    second = kit.agent("second", [[("wire", "c"), ("charge", "d")]], _asking(kit))
    return ParallelAgent(name="root", sub_agents=[first, second])


def loop(kit: Kit) -> Any:
    script = [[("charge", "a")], "once more", [("charge", "b")], "and again", [("exit_loop", "")]]
    worker = kit.agent("worker", script, [charge(kit.record), exit_loop])
    return LoopAgent(name="root", sub_agents=[worker], max_iterations=5)


def transfer(kit: Kit) -> Any:
    script = [[("charge", "a"), ("slow", "b")], [("charge", "c")]]
    desk = kit.agent("desk", script, _two(kit))
    return kit.agent("root", [[("transfer_to_agent", "desk")]], sub_agents=[desk])


def transfer_later(kit: Kit) -> Any:
    desk = kit.agent("desk", [[("charge", "b")]], _two(kit))
    script = [[("charge", "a")], [("transfer_to_agent", "desk"), ("slow", "c")]]
    return kit.agent("root", script, _two(kit), sub_agents=[desk])


def transfer_asking(kit: Kit) -> Any:
    desk = kit.agent("desk", [[("charge", "b")]], _two(kit))
    script = [[("transfer_to_agent", "desk"), ("wire", "a")]]
    return kit.agent("root", script, _asking(kit), sub_agents=[desk])


def agent_tool(kit: Kit) -> Any:
    inner = [[("charge", "a"), ("slow", "b")], [("charge", "c")]]
    helper = AgentTool(kit.agent("helper", inner, _two(kit)))
    script = [[("helper", "help"), ("charge", "d")], [("charge", "e")]]
    return kit.agent("root", script, [helper, charge(kit.record)], requests=("helper",))


def agent_tool_drifting(kit: Kit) -> Any:
    inner = [[("charge", "a"), ("slow", "b")], [("charge", "c")]]
    helper = AgentTool(kit.agent("helper", inner, _two(kit), drifts=True))
    return kit.agent("root", [[("helper", "help")]], [helper], requests=("helper",))


def agent_tools_asking(kit: Kit) -> Any:
    return _agent_tools(kit, "wire")


def agent_tools_policy(kit: Kit) -> Any:
    return _agent_tools(kit, "grant")


def _agent_tools(kit: Kit, asks: str) -> Any:
    tools = [*_asking(kit), charge(kit.record, "grant")]
    one = AgentTool(kit.agent("one", [[(asks, "a"), ("charge", "b")]], tools))
    other = AgentTool(kit.agent("other", [[(asks, "c")], [(asks, "d")]], tools))
    script = [[("one", "help"), ("other", "help")], [("charge", "e")]]
    return kit.agent("root", script, [one, other, charge(kit.record)], requests=("one", "other"))


def agent_tool_asking_drifting(kit: Kit) -> Any:
    return _agent_tool_drifting(kit, "wire")


def agent_tool_policy_drifting(kit: Kit) -> Any:
    return _agent_tool_drifting(kit, "grant")


def _agent_tool_drifting(kit: Kit, asks: str) -> Any:
    inner = [[(asks, "a"), ("charge", "b")], [("charge", "c")]]
    tools = [*_asking(kit), charge(kit.record, "grant")]
    helper = AgentTool(kit.agent("helper", inner, tools, drifts=True))
    return kit.agent("root", [[("helper", "help")]], [helper], requests=("helper",))


def agent_tool_deep(kit: Kit) -> Any:
    return _agent_tool_deep(kit, "wire")


def agent_tool_deep_policy(kit: Kit) -> Any:
    return _agent_tool_deep(kit, "grant")


def _agent_tool_deep(kit: Kit, asks: str) -> Any:
    own = [*_asking(kit), charge(kit.record, "grant")]
    inner = AgentTool(kit.agent("inner", [[(asks, "a")], [("charge", "b")]], own))
    tools = [inner, charge(kit.record)]
    script = [[("inner", "help"), ("charge", "c")]]
    middle = AgentTool(kit.agent("middle", script, tools, requests=("inner",)))
    return kit.agent("root", [[("middle", "help")]], [middle], requests=("middle",))


def single_turn(kit: Kit) -> Any:
    return _single_turn(kit)


def single_turn_drifting(kit: Kit) -> Any:
    return _single_turn(kit, drifts=True)


def _single_turn(kit: Kit, *, drifts: bool = False) -> Any:
    script = [[("charge", "a"), ("slow", "b")], [("charge", "c")]]
    clerk = kit.agent("clerk", script, _two(kit), drifts=drifts, mode="single_turn")
    outer = [[("clerk", "help"), ("charge", "d")]]
    tools = [charge(kit.record)]
    return kit.agent("root", outer, tools, sub_agents=[clerk], requests=("clerk",))


def single_turn_asking(kit: Kit) -> Any:
    tools = _asking(kit)
    one = kit.agent("one", [[("wire", "a"), ("charge", "b")]], tools, mode="single_turn")
    two = kit.agent("two", [[("wire", "c")], [("charge", "d")]], tools, mode="single_turn")
    script = [[("one", "help"), ("two", "help")]]
    return kit.agent("root", script, sub_agents=[one, two], requests=("one", "two"))


def task(kit: Kit) -> Any:
    script = [[("charge", "a"), ("slow", "b")], [("finish_task", "all")]]
    clerk = kit.agent("clerk", script, _two(kit), mode="task", requests=("finish_task",))
    clerk.model.arguments["finish_task"] = "result"
    return kit.agent("root", [[("clerk", "help")]], sub_agents=[clerk], requests=("clerk",))


def sequential_asking(kit: Kit) -> Any:
    script = [[("wire", "a"), ("wire", "b"), ("charge", "c")]]
    first = kit.agent("first", script, _asking(kit))
    second = kit.agent("second", [[("charge", "d")]], [charge(kit.record)])
    return SequentialAgent(name="root", sub_agents=[first, second])


def mcp(kit: Kit) -> Any:
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(SERVER), str(kit.folder), kit.kill_server_at],
        env=dict(os.environ),
    )
    # A loaded machine starts a process slowly.
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=30))
    script = [[("send", "a"), ("slow_send", "b")], [("send", "c")]]
    return kit.agent("root", script, [toolset])


def _two(kit: Kit) -> list[Any]:
    return [charge(kit.record), slow(kit.record)]


def _asking(kit: Kit) -> list[Any]:
    return [charge(kit.record), wire(kit.record)]


MANY = [[("charge", "a"), ("slow", "b"), ("pay", "c")], [("charge", "d")]]
WIRES = [[("wire", "a"), ("charge", "b")], [("charge", "c")]]
AGAIN = [[("wire", "a"), ("slow", "b")], [("wire", "c"), ("wire", "d")]]

AGENTS = {
    "parallel": Scenario(simple(MANY, charge, slow, pay), "a b c d"),
    "no_ids": Scenario(simple(MANY, charge, slow, pay, ids="none"), "a b c d"),
    "equal": Scenario(
        simple([[("charge", "a"), ("charge", "a")], [("charge", "a")]], charge, ids="none"), "a a a"
    ),
    "reused_ids": Scenario(
        simple(
            [[("charge", "a"), ("slow", "b")], [("slow", "c"), ("charge", "d")]],
            charge,
            slow,
            ids="same",
        ),
        "a b c d",
    ),
    "reused_asking": Scenario(
        simple([[("wire", "a")], [("wire", "b"), ("charge", "c")]], wire, charge, ids="same"),
        "a b c",
        approvals=2,
    ),
    "idempotent": Scenario(
        simple([[("look", "a"), ("charge", "b")], [("look", "c")]], look, charge),
        "a b c",
        policies={name: ToolPolicy(idempotent=True) for name in ("look", "charge")},
        repeatable=True,
    ),
    "confirm_native": Scenario(simple(WIRES, wire, charge), "a b c", approvals=1),
    "confirm_policy": Scenario(
        simple([[("charge", "a"), ("pay", "b")], [("pay", "c")]], charge, pay),
        "a b c",
        policies=CONFIRM,
        approvals=1,
    ),
    "confirm_dynamic": Scenario(
        simple([[("ask", "a"), ("charge", "b")], [("charge", "c")]], ask, charge),
        "a b c",
        approvals=1,
    ),
    "confirm_alone": Scenario(simple([[("wire", "a")]], wire), "a", approvals=1),
    "confirm_again": Scenario(simple(AGAIN, wire, slow), "a b c d", approvals=3),
    "raising": Scenario(
        simple([[("flaky", "a"), ("slow", "b")], [("charge", "c")]], flaky, slow, charge), "a b c"
    ),
    "raising_alone": Scenario(simple([[("flaky", "a")], [("charge", "b")]], flaky, charge), "a b"),
    "long_running": Scenario(
        simple(
            [[("render", "a"), ("slow", "b")], WAITING, [("charge", "c")]], render, slow, charge
        ),
        "a b c",
    ),
    "sequential": Scenario(sequential, "a b c"),
    "sequential_asking": Scenario(sequential_asking, "a b c d", approvals=2),
    "parallel_agents": Scenario(parallel, "a b c d"),
    "parallel_asking": Scenario(parallel_asking, "a b c d", approvals=2),
    "loop": Scenario(loop, "a b"),
    "transfer": Scenario(transfer, "a b c", last="desk"),
    "transfer_later": Scenario(transfer_later, "a b c", last="desk"),
    "transfer_asking": Scenario(transfer_asking, "a b", approvals=1, last="desk"),
    "agent_tool": Scenario(agent_tool, "a b c d e"),
    "agent_tool_drifting": Scenario(agent_tool_drifting, "a b c"),
    "agent_tools_asking": Scenario(agent_tools_asking, "a b c d e", approvals=3),
    "agent_tool_asking_drifting": Scenario(agent_tool_asking_drifting, "a b c", approvals=1),
    "agent_tool_deep": Scenario(agent_tool_deep, "a b c", approvals=1),
    "agent_tools_policy": Scenario(agent_tools_policy, "a b c d e", policies=GRANT, approvals=3),
    "agent_tool_policy_drifting": Scenario(
        agent_tool_policy_drifting, "a b c", policies=GRANT, approvals=1
    ),
    "agent_tool_deep_policy": Scenario(
        agent_tool_deep_policy, "a b c", policies=GRANT, approvals=1
    ),
    "single_turn": Scenario(single_turn, "a b c d"),
    "single_turn_drifting": Scenario(single_turn_drifting, "a b c d"),
    "single_turn_asking": Scenario(single_turn_asking, "a b c d", approvals=2),
    "task": Scenario(task, "a b"),
    "mcp": Scenario(mcp, "a b c"),
    "named": Scenario(
        simple(MANY, charge, slow, pay, drifts=True, ids="none"), "a b c d", named=True
    ),
    "named_asking": Scenario(
        simple(WIRES, wire, charge, drifts=True), "a b c", approvals=1, named=True
    ),
    "named_agent_tool": Scenario(agent_tool, "a b c d e", named=True),
    "two_runs": Scenario(
        simple([[("charge", "a"), ("wire", "b")], [("slow", "c")]], charge, wire, slow),
        "a1 b1 c1 a2 b2 c2",
        approvals=2,
        sessions=("go 1", "go 2"),
    ),
    "next_message": Scenario(
        simple(
            [[("charge", "a"), ("wire", "b")], "there", [("charge", "c"), ("wire", "d")]],
            charge,
            wire,
        ),
        "a b c d",
        approvals=2,
        more=("and now",),
    ),
}
