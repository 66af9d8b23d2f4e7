"""Two equal calls that a loop makes are two wishes: in a graph inside a protected body, across a pause, under a run name."""

from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

THREAD: Any = {"configurable": {"thread_id": "thread"}}
NAMED: Any = {"configurable": {"thread_id": "thread", "agent_adapter_run": "order-42"}}


class State(TypedDict, total=False):
    paid: int


def paying_twice(pay: Any, *, pause: bool) -> StateGraph[State]:
    """A graph that pays, perhaps asks, and pays the same once more."""

    def instalment(state: State) -> State:
        pay.invoke({"x": "5"})
        return {"paid": state.get("paid", 0) + 1}

    def between(_: State) -> State:
        if pause:
            interrupt("go on?")
        return {}

    graph = StateGraph(State)
    graph.add_node("instalment", instalment)
    graph.add_node("between", between)
    graph.add_edge(START, "instalment")
    graph.add_conditional_edges("instalment", lambda s: END if s["paid"] == 2 else "between")
    graph.add_edge("between", "instalment")
    return graph


def inside(host: Any, saver: Any) -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("host", host)
    graph.add_edge(START, "host")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("scope", ["durable node", "tool body"])
def test_a_graph_inside_a_scope_goes_on_in_its_middle(scope, durable, sync_saver, oracle):
    inner = paying_twice(durable.wrap([oracle.tool("pay")])[0], pause=True).compile()
    work = oracle.tool("work", lambda _: str(inner.invoke({})["paid"]))
    (worker,) = durable.wrap([work])

    def host(_: State) -> State:
        if scope == "tool body":
            return {"paid": int(worker.invoke({"x": "all"}))}
        return {"paid": inner.invoke({})["paid"]}

    app = inside(durable.node(host) if scope == "durable node" else host, sync_saver)
    app.invoke({}, THREAD)

    done = app.invoke(Command(resume="yes"), THREAD)

    assert done["paid"] == 2
    assert oracle.lines.count("pay:5") == 2


def test_a_loop_of_a_named_request_makes_progress(durable, sync_saver, oracle):
    app = paying_twice(durable.wrap([oracle.tool("pay")])[0], pause=False).compile(
        checkpointer=sync_saver
    )

    assert app.invoke({}, NAMED)["paid"] == 2
    assert oracle.lines.count("pay:5") == 2

    again: Any = {"configurable": {**NAMED["configurable"], "thread_id": "another"}}
    assert app.invoke({}, again)["paid"] == 2
    assert oracle.lines.count("pay:5") == 2
