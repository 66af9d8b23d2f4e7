"""A subgraph that keeps no checkpoints of its own cannot be found again: its protected calls are refused, with the ways out."""

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app

from agent_adapter_langgraph import UnstableVisit

CHAT = ScriptedChat(ask(("charge", "5", "c1")))


@pytest.fixture
def app_of(way, make_durable, sync_saver, oracle):
    def make(checkpointer):
        durable = make_durable(barrier_s=0.1)
        inner = durable_app(way, durable, CHAT, [oracle.tool("charge")], checkpointer)
        outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
        return outer.compile(checkpointer=sync_saver)

    return make


def test_it_is_refused_and_nothing_runs(app_of, oracle):
    with pytest.raises(UnstableVisit) as refused:
        app_of(False).invoke(GO, THREAD)

    wanted = ("checkpointer=False", "inherit the checkpointer", "agent_adapter_run")
    assert [words for words in wanted if words not in str(refused.value)] == []
    assert oracle.lines == []


@pytest.mark.parametrize("checkpointer", [None, True])
def test_one_that_inherits_or_keeps_its_own_runs(checkpointer, app_of, oracle):
    assert answers(app_of(checkpointer).invoke(GO, THREAD)) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5"]


def test_a_name_is_a_way_out(app_of, oracle):
    named = {"configurable": {**THREAD["configurable"], "agent_adapter_run": "order-42"}}

    assert answers(app_of(False).invoke(GO, named)) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5"]
