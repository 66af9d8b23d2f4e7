"""A step that is entered again lists its calls in another order: no call ever gets another call's result."""

from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, loop

ORDERS = [["a", "b", "a"], ["b", "a", "a"]]
PAID = {"a": "pay a done", "b": "pay b done"}


class Backend:
    """Down in the first pass, up after it."""

    def __init__(self) -> None:
        self.up = False

    def reach(self) -> None:
        if not self.up:
            raise ConnectionError("down")


def of_a_node(durable: Any, pay: Any, backend: Backend, saver: Any, got: list[Any]) -> Any:
    passes = iter(ORDERS)

    @durable.node
    def node(_: MessagesState) -> dict[str, Any]:
        got.append([(to, pay.invoke({"x": to})) for to in next(passes)])
        backend.reach()
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=saver)


def test_every_result_belongs_to_its_call(durable, sync_saver, oracle):
    (pay,) = durable.wrap([oracle.tool("pay")])
    backend = Backend()
    got: list[Any] = []
    app = of_a_node(durable, pay, backend, sync_saver, got)

    with pytest.raises(ConnectionError):
        app.invoke(GO, THREAD)
    backend.up = True
    app.invoke(None, THREAD)

    assert got == [[(to, PAID[to]) for to in order] for order in ORDERS]
    assert sorted(oracle.lines) == ["pay:a", "pay:a", "pay:b"]


async def test_a_model_that_would_answer_differently_is_not_asked_again(driver, durable, oracle):
    replies = iter(
        [ask(("pay", "a", "c1"), ("pay", "b", "c2")), ask(("pay", "b", "n1"), ("pay", "a", "n2"))]
    )
    backend = Backend()
    chat = ScriptedChat(lambda _: next(replies))

    def model(state: MessagesState) -> Any:
        return {"messages": [chat.invoke(state["messages"])]}

    turn = durable.turn(model)

    def model_then_backend(state: MessagesState) -> Any:
        update = turn(state)
        backend.reach()
        return update

    app = loop(model_then_backend, durable.tool_node([oracle.tool("pay")]), driver.saver)
    with pytest.raises(ConnectionError):
        await driver.invoke(app, GO)
    backend.up = True
    done = await driver.invoke(app, None)

    assert answers(done) == {"c1": "pay a done", "c2": "pay b done"}
    assert sorted(oracle.lines) == ["pay:a", "pay:b"]
