"""A bare answer that could have been meant for another question decides nothing later either."""

from typing import Any

from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from lg_scripted import GO, ScriptedChat, ask, loop, replying

from agent_adapter_langgraph import DurableTools

# One call after the other: the first question alone is shown, although both are open.
ONE_BY_ONE: Any = {"configurable": {"thread_id": "thread"}, "max_concurrency": 1}
# Where LangGraph keeps a bare answer.
RESUME, NULL_TASK_ID = "__resume__", "00000000-0000-0000-0000-000000000000"


def test_a_bare_answer_that_was_refused_never_answers_the_question_that_is_left(
    oracle: Any, durable: DurableTools, sync_saver: Any
) -> None:
    """Trial A1: the person answers `first`, once bare (refused) and once by id; nobody answers `second`."""
    tools = [oracle.tool(name, then=lambda x: str(interrupt(x))) for name in ("first", "second")]
    chat = ScriptedChat(ask(("first", "a", "call-a"), ("second", "b", "call-b")))
    app = loop(durable.turn(replying(chat)), ToolNode(durable.wrap(tools)), sync_saver)

    (shown,) = app.invoke(GO, ONE_BY_ONE)["__interrupt__"]
    (again,) = app.invoke(Command(resume="yes"), ONE_BY_ONE)["__interrupt__"]
    assert (shown.value, again.value, again.id) == ("a", "a", shown.id)

    (left,) = app.invoke(Command(resume={shown.id: "yes"}), ONE_BY_ONE)["__interrupt__"]
    (still,) = app.invoke(None, ONE_BY_ONE)["__interrupt__"]
    assert (left.value, still.id) == ("b", left.id)


def test_a_bare_answer_that_a_killed_worker_left_never_answers_another_question(
    oracle: Any, durable: DurableTools, sync_saver: Any
) -> None:
    """Trial A1: the worker that was sent the bare answer died before it read it; the person sends it again, by id."""
    tools = [oracle.tool(name, then=lambda x: str(interrupt(x))) for name in ("first", "second")]
    chat = ScriptedChat(ask(("first", "a", "call-a"), ("second", "b", "call-b")))
    app = loop(durable.turn(replying(chat)), ToolNode(durable.wrap(tools)), sync_saver)

    (shown,) = app.invoke(GO, ONE_BY_ONE)["__interrupt__"]
    sync_saver.put_writes(app.get_state(ONE_BY_ONE).config, [(RESUME, "yes")], NULL_TASK_ID)

    (left,) = app.invoke(Command(resume={shown.id: "yes"}), ONE_BY_ONE)["__interrupt__"]
    (still,) = app.invoke(None, ONE_BY_ONE)["__interrupt__"]
    assert (left.value, still.id) == ("b", left.id)
