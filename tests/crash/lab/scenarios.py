"""The graphs that are killed, by name: each way in of the bridge, and the same graph on the bare framework."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from points import hit
from record import Record
from tools import (
    Script,
    ScriptedModel,
    Watch,
    aoutcome,
    ask,
    charge,
    executor_charge,
    flaky,
    outcome,
    reply,
)

from agent_adapter import Executor, Registry, ToolCall
from agent_adapter.runtime import shared
from agent_adapter_langgraph import DurableTools


@dataclass(frozen=True)
class Kit:
    """What a graph is built from; without `durable` it is the bare framework's.

    Attributes:
        record: where its tools and its model write what they did.
        saver: its checkpointer.
        durable: the bridge.
        is_async: whether it is driven by `ainvoke`.
    """

    record: Record
    saver: Any
    durable: DurableTools | None
    is_async: bool

    def tool_node(self, tools: Sequence[BaseTool]) -> ToolNode:
        return self.durable.tool_node(tools) if self.durable else ToolNode(tools)

    def wrap(self, tools: Sequence[BaseTool]) -> Sequence[BaseTool]:
        return self.durable.wrap(tools) if self.durable else tools

    def middleware(self, *inside: Any) -> list[Any]:
        return self.durable.middleware(*inside) if self.durable else list(inside)

    def turn(self, script: Script) -> Callable[..., Any]:
        def model(state: MessagesState) -> dict[str, Any]:
            return {"messages": [reply(self.record, script, state["messages"])]}

        return self.durable.turn(model) if self.durable else model

    def node(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.durable.node(function) if self.durable else function


@dataclass(frozen=True)
class Scenario:
    """A graph and what it does when nothing happens to it.

    Attributes:
        build: makes the graph.
        script: every call that it makes.
        raises: the error that one of its tools raises; the run is then simply resumed.
        asks_in_turns: people are asked at more than one step: an old bare answer cannot be told from a new one, and is only
            sent again with its question's id.
        input: what it is started with.
    """

    build: Callable[[Kit, Script], Any]
    script: Script
    raises: str = ""
    asks_in_turns: bool = False
    input: Callable[[], Any] = lambda: {"messages": [HumanMessage("go", id="human-1")]}

    @property
    def orders(self) -> list[str]:
        return [order for turn in self.script for _, order in turn]


class Results(TypedDict):
    """The state of graphs without messages."""

    results: Annotated[list[tuple[str, str]], operator.add]


def chat(kit: Kit, script: Script, tools: Any, *, saver: Any = None, fan_out: bool = False) -> Any:
    """A model node and a tools node in a circle; `fan_out` sends each call to a task of its own."""

    def calls(state: MessagesState) -> Any:
        last = state["messages"][-1]
        if not last.tool_calls:
            return END
        return [Send("tools", [call]) for call in last.tool_calls] if fan_out else "tools"

    def back(_: Any) -> str:
        hit("after node tools")
        return "model"

    graph = StateGraph(MessagesState)
    graph.add_node("model", kit.turn(script))
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", calls, ["tools", END])
    graph.add_conditional_edges("tools", back, ["model"])
    return graph.compile(checkpointer=saver)


def tool_node(kit: Kit, script: Script) -> Any:
    tools = kit.tool_node([charge(kit.record), ask(kit.record), flaky(kit.record)])
    return chat(kit, script, tools, saver=kit.saver)


def wrapped(kit: Kit, script: Script) -> Any:
    tools = ToolNode(kit.wrap([charge(kit.record), ask(kit.record)]))
    return chat(kit, script, tools, saver=kit.saver)


def fan_out(kit: Kit, script: Script) -> Any:
    return chat(kit, script, kit.tool_node([charge(kit.record)]), saver=kit.saver, fan_out=True)


def subgraph(kit: Kit, script: Script) -> Any:
    inner = chat(kit, script, kit.tool_node([charge(kit.record), ask(kit.record)]))
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner)
    graph.add_edge(START, "inner")
    return graph.compile(checkpointer=kit.saver)


def agent(kit: Kit, script: Script) -> Any:
    return _agent(kit, script, kit.middleware(Watch()))


def reviewed(kit: Kit, script: Script) -> Any:
    review = HumanInTheLoopMiddleware(
        interrupt_on={"charge": {"allowed_decisions": ["approve", "reject"]}}
    )
    return _agent(kit, script, kit.middleware(review, Watch()))


def _agent(kit: Kit, script: Script, middleware: list[Any]) -> Any:
    model = ScriptedModel(record=kit.record, script=script)
    tools = [charge(kit.record), ask(kit.record)]
    return create_agent(model, tools, middleware=middleware, checkpointer=kit.saver)


def own_node(kit: Kit, script: Script) -> Any:
    """Executor calls, many and one, and a wrapped tool in one node of the user's."""
    executor = Executor(Registry([executor_charge(kit.record)]))
    *many, one, last = [order for turn in script for _, order in turn]
    (by_hand,) = kit.wrap([TOOLS[script[-1][-1][0]](kit.record)])

    async def executed() -> list[tuple[str, str]]:
        at_once = await executor.run_many([_call(order) for order in many])
        results = zip([*many, one], [*at_once, await executor.run_call(_call(one))], strict=True)
        hit("node between calls")
        return [
            (order, result.value if result.error is None else result.error.message)
            for order, result in results
        ]

    async def asettle(_: Results) -> dict[str, Any]:
        results = [*await executed(), await aoutcome(by_hand, last)]
        hit("node after calls")
        return {"results": results}

    def settle(_: Results) -> dict[str, Any]:
        results = [*shared().run(executed()), outcome(by_hand, last)]
        hit("node after calls")
        return {"results": results}

    graph = StateGraph(Results)
    graph.add_node("settle", kit.node(asettle if kit.is_async else settle))
    graph.add_edge(START, "settle")
    return graph.compile(checkpointer=kit.saver)


def tasks(kit: Kit, script: Script) -> Any:
    """`@task`s that call a wrapped tool: two at once, then one more."""
    *first, last = [(name, order) for turn in script for name, order in turn]
    by_name = {name: kit.wrap([make(kit.record)])[0] for name, make in TOOLS.items()}

    @task
    def pay(name: str, order: str) -> tuple[str, str]:
        result = outcome(by_name[name], order)
        hit(f"task after tool {order}")
        return result

    @task
    async def apay(name: str, order: str) -> tuple[str, str]:
        result = await aoutcome(by_name[name], order)
        hit(f"task after tool {order}")
        return result

    if kit.is_async:

        @entrypoint(checkpointer=kit.saver)
        async def aflow(_: Any) -> Any:
            futures = [apay(*call) for call in first]
            results = [await future for future in futures]
            return {"results": [*results, await apay(*last)]}

        return aflow

    @entrypoint(checkpointer=kit.saver)
    def flow(_: Any) -> Any:
        futures = [pay(*call) for call in first]
        results = [future.result() for future in futures]
        return {"results": [*results, pay(*last).result()]}

    return flow


def _call(order: str) -> ToolCall:
    return ToolCall(f"call-{order}", "charge", {"order": order})


def _start_results() -> Any:
    return {"results": []}


TOOLS = {"charge": charge, "ask": ask}
CHARGES: Script = [[("charge", "a1"), ("charge", "b1"), ("charge", "c1")], [("charge", "d1")]]
ASKS: Script = [[("ask", "a2"), ("charge", "b2"), ("ask", "c2")], [("charge", "d2")]]
ASKS_ONE: Script = [[("charge", "a3"), ("ask", "b3")], [("charge", "c3")]]
ASKS_LAST: Script = [[("charge", "a5"), ("charge", "b5"), ("charge", "c5"), ("ask", "d5")]]

SCENARIOS = {
    "tool_node": Scenario(tool_node, CHARGES),
    "agent": Scenario(agent, CHARGES),
    "own_node": Scenario(own_node, CHARGES, input=_start_results),
    "subgraph": Scenario(subgraph, ASKS_ONE),
    "send": Scenario(fan_out, CHARGES),
    "wrapped": Scenario(wrapped, ASKS),
    "asking": Scenario(tool_node, ASKS),
    "asking_one": Scenario(tool_node, ASKS_ONE),
    "asking_agent": Scenario(agent, ASKS_ONE),
    "reviewed": Scenario(reviewed, CHARGES, asks_in_turns=True),
    "raising": Scenario(
        tool_node, [[("flaky", "a4"), ("charge", "b4")], [("charge", "c4")]], raises="flaky a4"
    ),
    "task": Scenario(tasks, CHARGES, input=_start_results),
    "asking_node": Scenario(own_node, ASKS_LAST, input=_start_results),
    "asking_task": Scenario(tasks, ASKS_ONE, input=_start_results),
}
