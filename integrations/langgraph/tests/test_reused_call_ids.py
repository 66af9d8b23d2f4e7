"""A provider that gives every call the same id: each call runs once and gets its own answer, in one turn and over turns."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command
from lg_scripted import GO, ScriptedChat, ask, durable_app, loop, replying

PAY_A, PAY_B = ("pay", "a", "call_0"), ("pay", "b", "call_0")


def story(state: Any) -> list[tuple[str, str]]:
    """Each call with the answer that its turn holds for its id."""
    told, messages = [], state["messages"]
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            turn: dict[str, str] = {}
            for answer in messages[place + 1 :]:
                if not isinstance(answer, ToolMessage):
                    break
                assert answer.tool_call_id not in turn
                turn[answer.tool_call_id] = answer.text
            told += [(call["args"]["x"], turn[str(call["id"])]) for call in message.tool_calls]
    return told


async def test_in_one_turn(way, driver, durable, oracle):
    app = durable_app(
        way, durable, ScriptedChat(ask(PAY_A, PAY_B)), [oracle.tool("pay")], driver.saver
    )

    done = await driver.invoke(app, GO)

    assert story(done) == [("a", "pay a done"), ("b", "pay b done")]
    assert sorted(oracle.lines) == ["pay:a", "pay:b"]


@pytest.mark.parametrize("missing", [None, ""])
async def test_without_ids(missing, driver, durable, oracle):
    turn = ask(("pay", "a", missing), ("pay", "b", missing))
    app = durable_app("node", durable, ScriptedChat(turn), [oracle.tool("pay")], driver.saver)

    done = await driver.invoke(app, GO)

    assert story(done) == [("a", "pay a done"), ("b", "pay b done")]
    assert sorted(oracle.lines) == ["pay:a", "pay:b"]


async def test_a_tool_node_repairs_ids_itself_when_the_replies_are_not_kept(
    driver, make_durable, oracle
):
    durable = make_durable(model_replies=False)
    chat = ScriptedChat(ask(PAY_A, PAY_B))
    app = loop(replying(chat), durable.tool_node([oracle.tool("pay")]), driver.saver)

    done = await driver.invoke(app, GO)

    assert story(done) == [("a", "pay a done"), ("b", "pay b done")]
    assert sorted(oracle.lines) == ["pay:a", "pay:b"]


@pytest.mark.parametrize("second", [PAY_B, PAY_A], ids=["other wish", "same wish again"])
async def test_in_later_turns(second, way, driver, durable, oracle):
    app = durable_app(
        way, durable, ScriptedChat(ask(PAY_A), ask(second)), [oracle.tool("pay")], driver.saver
    )

    done = await driver.invoke(app, GO)

    to = second[1]
    assert story(done) == [("a", "pay a done"), (to, f"pay {to} done")]
    assert oracle.lines == ["pay:a", f"pay:{to}"]


async def test_with_approvals_inside(driver, durable, oracle):
    gate = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    app = create_agent(
        ScriptedChat(ask(PAY_A), ask(PAY_B)),
        [oracle.tool("pay")],
        middleware=durable.middleware(gate),
        checkpointer=driver.saver,
    )
    await driver.invoke(app, GO)

    for _ in range(2):
        done = await driver.invoke(app, Command(resume={"decisions": [{"type": "approve"}]}))

    assert story(done) == [("a", "pay a done"), ("b", "pay b done")]
    assert oracle.lines == ["pay:a", "pay:b"]
