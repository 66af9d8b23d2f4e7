"""Wrapped tools in tasks and nested workflows: what finished before a pause is not repeated, whatever the nesting."""

from typing import Any

import pytest
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import THREAD, Oracle, interrupts
from typing_extensions import TypedDict

from agent_adapter_langgraph import DurableTools


class State(TypedDict):
    x: str


def one_node(node: Any, saver: Any = None) -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=saver)


def entrypoint_in_entrypoint(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    @durable.node
    async def outer(x: str) -> str:
        return await inner.ainvoke(x)

    return outer


def entrypoint_in_a_node(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    @durable.node
    async def node(state: State) -> State:
        return {"x": await inner.ainvoke(state["x"])}

    return one_node(node, saver)


def tasks_in_a_node(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    @durable.node
    async def node(state: State) -> State:
        return {"x": await body(state["x"])}

    return one_node(node, saver)


def tasks_in_a_subgraph(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    return one_node(tasks_in_a_node(inner, body, durable, None), saver)


def subgraph_in_an_entrypoint(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    child = tasks_in_a_node(inner, body, durable, None)

    @entrypoint(checkpointer=saver)
    async def outer(x: str) -> Any:
        return (await child.ainvoke({"x": x}))["x"]

    return outer


def entrypoint_in_a_task(inner: Any, body: Any, durable: DurableTools, saver: Any) -> Any:
    @task
    async def step(x: str) -> str:
        return await inner.ainvoke(x)

    @entrypoint(checkpointer=saver)
    @durable.node
    async def outer(x: str) -> str:
        return await step(x)

    return outer


SHAPES = [
    entrypoint_in_entrypoint,
    entrypoint_in_a_node,
    tasks_in_a_node,
    tasks_in_a_subgraph,
    subgraph_in_an_entrypoint,
    entrypoint_in_a_task,
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
async def test_a_finished_call_is_not_repeated(shape, durable, async_saver, oracle: Oracle):
    send, late = durable.wrap([oracle.tool("send"), oracle.tool("late")])

    @task
    async def do_send(x: str) -> str:
        return await send.ainvoke({"x": x})

    @task
    async def do_ask(x: str) -> str:
        return f"{x} | {interrupt('ok?')} | {await late.ainvoke({'x': x})}"

    async def body(x: str) -> str:
        return await do_ask(await do_send(x))

    @entrypoint()
    async def inner(x: str) -> str:
        return await body(x)

    app = shape(inner, body, durable, async_saver)
    given: Any = {"x": "mail"} if hasattr(app, "builder") else "mail"

    paused = await app.ainvoke(given, THREAD)
    done = await app.ainvoke(Command(resume="yes"), THREAD)

    # LangGraph lists a nested question once for each graph around it, under one id.
    assert {each.value for each in interrupts(paused)} == {"ok?"}
    assert len({each.id for each in interrupts(paused)}) == 1
    assert (
        done["x"] if isinstance(done, dict) else done
    ) == "send mail done | yes | late send mail done done"
    assert oracle.lines == ["send:mail", "late:send mail done"]
