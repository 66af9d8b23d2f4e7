"""Two questions inside one sub-graph: a bare answer is refused, answers by id reach their own call."""

import operator
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import THREAD, interrupts
from typing_extensions import TypedDict


class State(TypedDict):
    out: Annotated[list[str], operator.add]


@pytest.fixture(params=["as a node", "called in a node"])
def app(request, durable, oracle, sync_saver):
    """A sub-graph with two nodes, each of which uses a protected tool that asks."""

    def asks(x: str) -> str:
        said = interrupt(x)
        oracle.write(f"{x}:{said}")
        return f"{x}={said}"

    inner: Any = StateGraph(State)
    for name in ("pay", "delete"):
        (tool,) = durable.wrap([oracle.tool(f"tool_{name}", asks)])
        inner.add_node(name, lambda _, tool=tool, name=name: {"out": [tool.invoke({"x": name})]})
        inner.add_edge(START, name)
    compiled = inner.compile()

    def calls(state: State) -> Any:
        return compiled.invoke(state)

    outer: Any = StateGraph(State)
    outer.add_node("agent", compiled if request.param == "as a node" else calls)
    outer.add_edge(START, "agent")
    return outer.compile(checkpointer=sync_saver)


def test_a_bare_answer_is_refused(app, oracle):
    app.invoke({"out": []}, THREAD)
    before = oracle.lines

    with pytest.raises(RuntimeError, match="interrupt id"):
        app.invoke(Command(resume="yes"), THREAD)

    assert oracle.lines == before


def test_answers_by_id_reach_their_own_call(app, oracle):
    questions = {each.value: each.id for each in interrupts(app.invoke({"out": []}, THREAD))}

    done = app.invoke(Command(resume={questions["pay"]: "yes", questions["delete"]: "no"}), THREAD)

    assert sorted(line for line in oracle.lines if not line.startswith("tool_")) == [
        "delete:no",
        "pay:yes",
    ]
    assert sorted(set(done["out"])) == ["delete=no", "pay=yes"]
