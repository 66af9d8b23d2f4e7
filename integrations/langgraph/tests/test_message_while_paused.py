"""The person writes something else while a call waits: nothing runs by itself, and the call is answered for or answerable."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Command, interrupt
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, answers, ask, durable_app, interrupts

THANKS = {"messages": [HumanMessage("by the way, thanks")]}
TURN = ask(("refund", "o1", "c1"))


def asking(oracle: Oracle) -> list[Any]:
    def refund(x: str) -> str:
        said = interrupt("refund?")
        oracle.write(f"refunded:{said}")
        return f"refunded, {said}"

    return [oracle.tool("refund", refund)]


def refunds(oracle: Oracle) -> list[str]:
    return [line for line in oracle.lines if line.startswith("refunded")]


@pytest.mark.parametrize("late", ["yes", {"type": "approve"}])
async def test_a_late_bare_answer_runs_nothing(late, way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), asking(oracle), driver.saver)
    await driver.invoke(app, GO)
    await driver.invoke(app, THANKS)

    await driver.invoke(app, Command(resume=late))

    assert refunds(oracle) == []


async def test_the_parked_call_stays_answerable_where_it_was_asked(way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), asking(oracle), driver.saver)
    (question,) = interrupts(await driver.invoke(app, GO))
    parked = (
        await app.aget_state(THREAD) if driver.kind == "async" else app.get_state(THREAD)
    ).config
    await driver.invoke(app, THANKS)

    done = await driver.invoke(app, Command(resume={question.id: "yes"}), parked)

    assert answers(done) == {"c1": "refunded, yes"}
    assert refunds(oracle) == ["refunded:yes"]


@pytest.mark.parametrize(
    "gated", [True, False], ids=["approval before the tool", "question inside the tool"]
)
async def test_the_model_is_told_of_the_parked_call(gated, driver, durable, oracle):
    chat = ScriptedChat(TURN)
    tools = [oracle.tool("refund")] if gated else asking(oracle)
    gates = [HumanInTheLoopMiddleware(interrupt_on={"refund": True})] if gated else []
    app = create_agent(
        chat, tools, middleware=durable.middleware(*gates, repair=True), checkpointer=driver.saver
    )
    await driver.invoke(app, GO)

    await driver.invoke(app, THANKS)

    (told,) = [message for message in chat.seen[-1] if isinstance(message, ToolMessage)]
    assert (told.tool_call_id, told.status) == ("c1", "error")
    assert ("never started" if gated else "unknown") in told.text
    assert refunds(oracle) == []
