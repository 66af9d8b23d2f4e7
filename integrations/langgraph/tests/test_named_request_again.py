"""A named request that is delivered twice does its work once, and the second delivery gets the answers to its own calls."""

import itertools
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from lg_scripted import ScriptedChat, ask, durable_app


def delivered(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "agent_adapter_run": "order-42"}}


def turns(state: Any) -> list[str]:
    """The state's messages, each model call beside the answer that belongs to it."""
    return [
        f"{message.type} {[call['id'] for call in message.tool_calls]}"
        if isinstance(message, AIMessage) and message.tool_calls
        else f"{message.type} {getattr(message, 'tool_call_id', '')} {message.text}".strip()
        for message in state["messages"]
    ]


def model_with_fresh_ids() -> ScriptedChat:
    """A model that words its wish alike each time, under a new call id, and ends when the wish is answered."""
    ids = itertools.count(1)

    def reply(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("done")
        return ask(("charge", "5", f"c{next(ids)}"))

    return ScriptedChat(*[reply] * 6)


@pytest.mark.parametrize("second", ["another", "thread"], ids=["fresh thread", "same thread"])
async def test_the_second_delivery_is_answered_under_its_own_call_ids(
    second, way, make_durable, driver, oracle
):
    durable = make_durable(model_replies=False)
    app = durable_app(way, durable, model_with_fresh_ids(), [oracle.tool("charge")], driver.saver)

    await driver.invoke(app, {"messages": [HumanMessage("go")]}, delivered("thread"))
    again = await driver.invoke(app, {"messages": [HumanMessage("go")]}, delivered(second))

    assert turns(again)[-4:] == ["human  go", "ai ['c2']", "tool c2 charge 5 done", "ai  done"]
    assert oracle.lines == ["charge:5"]
