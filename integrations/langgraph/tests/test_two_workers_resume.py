"""Approve clicked twice at the same moment: one effect, also in the turn after it, and one history."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.types import Command
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    durable_app,
    interrupts,
)

from agent_adapter.errors import ApprovalConflict

CLICK = {"decisions": [{"type": "approve"}]}
REPLIES = ask(("refund", "o1", "c1")), ask(("receipt", "o1", "c2"))


def gate() -> HumanInTheLoopMiddleware:
    return HumanInTheLoopMiddleware(interrupt_on={"refund": True})


def answered_at_once(app: Any, *answers_given: Any) -> list[Any]:
    """The outcomes of answers that begin together: each a state or an error."""
    together = threading.Barrier(len(answers_given))

    def click(answer: Any) -> Any:
        together.wait(10)
        try:
            return app.invoke(Command(resume=answer), THREAD)
        except Exception as error:  # noqa: BLE001 - the outcome
            return error

    with ThreadPoolExecutor(len(answers_given)) as pool:
        return list(pool.map(click, answers_given))


def test_one_effect_each_turn(durable, sync_saver, oracle):
    tools = [oracle.tool("refund"), oracle.tool("receipt")]
    app = durable_app("agent", durable, ScriptedChat(*REPLIES), tools, sync_saver, gate())
    app.invoke(GO, THREAD)

    outcomes = answered_at_once(app, CLICK, CLICK)

    assert oracle.lines == ["refund:o1", "receipt:o1"]
    assert [answers(each) for each in outcomes] == [
        {"c1": "refund o1 done", "c2": "receipt o1 done"}
    ] * 2
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


def test_of_two_different_answers_the_first_counts_for_both(durable, sync_saver, oracle):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    app = durable_app(
        "agent", durable, ScriptedChat(REPLIES[0]), [oracle.tool("refund", fails)], sync_saver
    )
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)
    (question,) = interrupts(app.invoke(None, THREAD))

    given = [{question.id: {"type": "respond", "message": said}} for said in ("paid", "refused")]
    outcomes = answered_at_once(app, *given)

    errors = [each for each in outcomes if isinstance(each, Exception)]
    assert {type(each).__mro__[1] for each in errors} <= {ApprovalConflict}
    stands = answers(app.invoke(None, THREAD))["c1"]
    assert stands in ("paid", "refused")
    assert [answers(each)["c1"] for each in outcomes if each not in errors] == [stands] * (
        2 - len(errors)
    )
    assert oracle.lines == ["refund:o1"]


def test_control_bare_langgraph_refunds_twice(sync_saver, oracle: Oracle):
    both_inside = threading.Barrier(2)

    def refund(x: str) -> str:
        both_inside.wait(10)
        return "refunded"

    app = bare_app(
        "agent", ScriptedChat(REPLIES[0]), [oracle.tool("refund", refund)], sync_saver, gate()
    )
    app.invoke(GO, THREAD)

    answered_at_once(app, CLICK, CLICK)

    assert oracle.lines == ["refund:o1", "refund:o1"]
