"""Without a checkpointer, a thread or a name no record could be found again: the first protected call is refused."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app

from agent_adapter import ConfigError, ToolPolicy

TURN = ask(("charge", "5", "c1"))
NAMED = {"configurable": {"agent_adapter_run": "order-42"}}


async def runs_in(durable) -> list[str]:
    return [run.run_id for run in await durable.store.list_runs()]


async def test_without_a_checkpointer_nothing_runs_and_the_ways_out_are_named(way, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], None)

    with pytest.raises(ConfigError) as refused:
        app.invoke(GO)

    wanted = ("checkpointer", "thread_id", "agent_adapter_run", "allow_unsaved=True")
    assert [word for word in wanted if word not in str(refused.value)] == []
    assert oracle.lines == []
    assert await runs_in(durable) == []


async def test_async_too(way, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], None)

    with pytest.raises(ConfigError, match="no checkpointer"):
        await app.ainvoke(GO)

    assert oracle.lines == []


async def test_knowingly_unsaved_it_runs_and_records_nothing(way, make_durable, oracle):
    durable = make_durable(allow_unsaved=True)
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], None)

    first, second = app.invoke(GO), app.invoke(GO)

    assert answers(first) == answers(second) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5", "charge:5"]
    assert await runs_in(durable) == []


def test_a_name_is_enough(way, make_durable, oracle):
    for _ in range(2):
        app = durable_app(way, make_durable(), ScriptedChat(TURN), [oracle.tool("charge")], None)
        assert answers(app.invoke(GO, NAMED)) == {"c1": "charge 5 done"}

    assert oracle.lines == ["charge:5"]


def test_a_read_only_tool_needs_none(way, make_durable, oracle):
    durable = make_durable(policies={"charge": ToolPolicy(read_only=True)}, model_replies=False)
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], None)

    assert answers(app.invoke(GO)) == {"c1": "charge 5 done"}


@pytest.mark.parametrize("name", ["", 42, ["order-42"]])
def test_a_name_is_text(name, way, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], InMemorySaver())
    config = {"configurable": {**THREAD["configurable"], "agent_adapter_run": name}}

    with pytest.raises(ConfigError, match="agent_adapter_run"):
        app.invoke(GO, config)

    assert oracle.lines == []
