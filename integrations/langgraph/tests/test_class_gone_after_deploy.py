"""A result's class was moved, removed or given another field by a deploy: a clear refusal, no other value, no effect."""

from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import GO, THREAD, Oracle
from pydantic import BaseModel

from agent_adapter.errors import NotSealable
from agent_adapter_langgraph import DurableTools


@dataclass
class Line:
    sku: str


class Quote(BaseModel):
    cents: int


class NewQuote(BaseModel):
    cents: int
    currency: str


@dataclass
class LongerLine:
    sku: str
    count: int


# A later deploy has these under the old names.
for new, old in ((NewQuote, Quote), (LongerLine, Line)):
    new.__module__, new.__qualname__ = old.__module__, old.__qualname__


def app_of(durable: DurableTools, oracle: Oracle, value: Any, saver: Any, got: list[Any]) -> Any:
    give, stop = durable.wrap(
        [oracle.tool("give", lambda _: value), oracle.tool("stop", lambda x: str(interrupt(x)))]
    )

    def node(_: MessagesState) -> dict[str, Any]:
        got.append(give.invoke({"x": "it"}))
        stop.invoke({"x": "here"})
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=saver)


DEPLOYS = {
    "model gone": (Quote, Quote(cents=5), []),
    "dataclass gone": (Line, Line("a"), []),
    "model with a new field": (Quote, Quote(cents=5), [NewQuote]),
    "dataclass with a new field": (Line, Line("a"), [LongerLine]),
}


@pytest.mark.parametrize("deploy", DEPLOYS)
def test_the_replay_is_refused(deploy, make_durable, sync_saver, oracle):
    kind, value, later = DEPLOYS[deploy]
    got: list[Any] = []
    app_of(make_durable(types=[kind]), oracle, value, sync_saver, got).invoke(GO, THREAD)

    with pytest.raises(NotSealable, match=kind.__qualname__):
        app_of(make_durable(types=later), oracle, value, sync_saver, got).invoke(
            Command(resume="yes"), THREAD
        )

    assert got == [value]
    assert oracle.lines.count("give:it") == 1


def test_with_the_class_back_the_run_goes_on(make_durable, sync_saver, oracle):
    got: list[Any] = []
    app_of(make_durable(types=[Line]), oracle, Line("a"), sync_saver, got).invoke(GO, THREAD)
    with pytest.raises(NotSealable):
        app_of(make_durable(), oracle, Line("a"), sync_saver, got).invoke(None, THREAD)

    app_of(make_durable(types=[Line]), oracle, Line("a"), sync_saver, got).invoke(
        Command(resume="yes"), THREAD
    )

    assert got == [Line("a"), Line("a")]
    assert oracle.lines.count("give:it") == 1
