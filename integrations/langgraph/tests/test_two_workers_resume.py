"""Approve clicked twice at the same moment: one effect, also in the turn after it, and one history."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.types import Command
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, answers, ask, bare_app, durable_app

CLICK = {"decisions": [{"type": "approve"}]}
REPLIES = ask(("refund", "o1", "c1")), ask(("receipt", "o1", "c2"))


def gate() -> HumanInTheLoopMiddleware:
    return HumanInTheLoopMiddleware(interrupt_on={"refund": True})


def clicked_twice(app: Any) -> list[Any]:
    """The outcomes of two clicks that begin together: each a state or an error."""
    together = threading.Barrier(2)

    def click() -> Any:
        together.wait(10)
        try:
            return app.invoke(Command(resume=CLICK), THREAD)
        except Exception as error:  # noqa: BLE001 - the outcome
            return error

    with ThreadPoolExecutor(2) as pool:
        return [each.result() for each in [pool.submit(click) for _ in range(2)]]


def test_one_effect_each_turn(durable, sync_saver, oracle):
    tools = [oracle.tool("refund"), oracle.tool("receipt")]
    app = durable_app("agent", durable, ScriptedChat(*REPLIES), tools, sync_saver, gate())
    app.invoke(GO, THREAD)

    outcomes = clicked_twice(app)

    assert oracle.lines == ["refund:o1", "receipt:o1"]
    assert [answers(each) for each in outcomes] == [{"c1": "refund o1 done", "c2": "receipt o1 done"}] * 2
    types = [message.type for message in app.get_state(THREAD).values["messages"]]
    assert types == ["human", "ai", "tool", "ai", "tool", "ai"]


def test_a_click_on_what_is_over_changes_nothing(durable, sync_saver, oracle):
    tools = [oracle.tool("refund"), oracle.tool("receipt")]
    app = durable_app("agent", durable, ScriptedChat(*REPLIES), tools, sync_saver, gate())
    app.invoke(GO, THREAD)
    done = app.invoke(Command(resume=CLICK), THREAD)

    again = app.invoke(Command(resume=CLICK), THREAD)

    assert again["messages"] == done["messages"]
    assert oracle.lines == ["refund:o1", "receipt:o1"]


def test_control_bare_langgraph_refunds_twice(sync_saver, oracle: Oracle):
    both_inside = threading.Barrier(2)

    def refund(x: str) -> str:
        both_inside.wait(10)
        return "refunded"

    app = bare_app("agent", ScriptedChat(REPLIES[0]), [oracle.tool("refund", refund)], sync_saver, gate())
    app.invoke(GO, THREAD)

    clicked_twice(app)

    assert oracle.lines == ["refund:o1", "refund:o1"]
