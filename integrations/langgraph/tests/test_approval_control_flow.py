"""Item 158: LangGraph's own signals pass through executor, guards, hooks and ports untouched."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.errors import ParentCommand
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import THREAD, interrupts
from typing_extensions import TypedDict

from agent_adapter import Executor, Registry, ToolCall, tool


class State(TypedDict, total=False):
    out: Annotated[list[Any], operator.add]


class Hook:
    """Hears of everything, and stops nothing."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def before(self, call: Any, ctx: Any) -> None:
        pass

    def after(self, call: Any, result: Any, ctx: Any) -> None:
        self.ended.append(result.status)


class AskingPort:
    def __init__(self, place: str) -> None:
        self._place = place

    async def request(self, request: Any, ctx: Any) -> Any:
        return interrupt(f"from the {self._place}")


def graph(node: Any, saver: Any) -> Any:
    made: Any = StateGraph(State)
    made.add_node("node", node)
    made.add_edge(START, "node")
    return made.compile(checkpointer=saver)


@pytest.mark.parametrize("place", ["body", "guard", "port", "confirm"])
@pytest.mark.parametrize("durably", [True, False], ids=["durable node", "bare node"])
async def test_an_interrupt_from_anywhere_pauses_the_graph(
    *, durably, place, make_durable, async_saver, oracle
):
    """Item 158."""

    def asks(*_: Any) -> Any:
        interrupt(f"from the {place}")

    confirm: Any = {"port": True, "confirm": asks}.get(place, False)
    guards = (asks,) if place == "guard" else ()

    @tool(confirm=confirm, guards=guards)
    def pay(x: str) -> str:
        if place == "body":
            asks()
        oracle.write(f"pay:{x}")
        return "paid"

    hook = Hook()
    executor = Executor(Registry([pay]), approvals=AskingPort(place), hooks=[hook], retry=3)

    async def node(_: State) -> State:
        return {"out": [await executor.run("pay", {"x": "1"})]}

    durable = make_durable(gate=False)
    app = graph(durable.node(node) if durably else node, async_saver)

    paused = await app.ainvoke({"out": []}, THREAD)

    assert [each.value for each in interrupts(paused)] == [f"from the {place}"]
    assert hook.ended == []
    assert oracle.lines == []


async def test_a_hand_off_out_of_an_executor_call_reaches_the_parent(durable, async_saver, oracle):
    """Item 158: `ParentCommand` is no failure of the tool."""

    @tool
    def leave(x: str) -> str:
        oracle.write(f"leave:{x}")
        raise ParentCommand(Command(graph=Command.PARENT, update={"out": ["handed off"]}))

    executor = Executor(Registry([leave]), retry=3)

    @durable.node
    async def node(_: State) -> State:
        return {"out": [await executor.run("leave", {"x": "1"})]}

    outer: Any = StateGraph(State)
    outer.add_node("child", graph(node, None))
    outer.add_edge(START, "child")

    done = await outer.compile(checkpointer=async_saver).ainvoke({"out": []}, THREAD)

    assert done["out"] == ["handed off"]
    assert oracle.lines == ["leave:1"]


@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
async def test_a_batch_lets_a_pause_pass(on_error, async_saver):
    """Item 158."""

    @tool
    def pay(x: str) -> str:
        return str(interrupt(f"pay {x}?"))

    executor = Executor(Registry([pay]))

    async def node(_: State) -> State:
        calls = [ToolCall("c1", "pay", {"x": "1"})]
        return {"out": await executor.run_many(calls, on_error=on_error)}

    paused = await graph(node, async_saver).ainvoke({"out": []}, THREAD)

    assert [each.value for each in interrupts(paused)] == ["pay 1?"]
