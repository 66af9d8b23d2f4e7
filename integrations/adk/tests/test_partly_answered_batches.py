"""Batches that were interrupted half-way: exactly the unanswered calls run, and the model sees whole turns only.

See https://github.com/google/adk-python/issues/7108.
"""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, shown
from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk import Mends

TURN = [ask("charge", "a", call_id="1"), ask("pay", "b", call_id="2")]
SHOWN = {
    "calls": ["charge", "pay"],
    "responses": {"charge": {"did": "charge a"}, "pay": {"did": "pay b"}},
}


async def interrupted(chat, author):
    """The session as an older worker left it: one call of the turn is answered."""
    session = await chat.service.create_session(
        app_name="shop", user_id="user", session_id="session"
    )
    answer = types.FunctionResponse(id="1", name="charge", response={"did": "charge a"})
    for who, parts in [
        ("user", [types.Part(text="go")]),
        ("root", TURN),
        (author, [types.Part(function_response=answer)]),
    ]:
        role = "model" if who == "root" and parts is TURN else "user"
        event = Event(
            invocation_id="e-1", author=who, content=types.Content(role=role, parts=parts)
        )
        if role == "model":
            event.node_info.path = "root@1"
        await chat.service.append_event(session, event)


@pytest.mark.parametrize("author", ["root", "user"])
async def test_the_unanswered_call_runs_and_no_other(oracle, make_chat, author):
    model = ScriptedModel(TURN)
    chat = make_chat(agent(model, oracle.tool("charge"), oracle.tool("pay")))
    await interrupted(chat, author)

    events = await chat.resume()

    assert oracle.lines == ["pay:b"]
    assert responses(events) == {"pay": {"did": "pay b"}}
    assert shown(model) == SHOWN


async def test_without_the_mend_the_call_is_lost(oracle, make_chat, make_durable):
    durable = make_durable(mends=Mends(partial=False, prompt=False))
    model = ScriptedModel(TURN)
    chat = make_chat(agent(model, oracle.tool("charge"), oracle.tool("pay")), with_=durable)
    await interrupted(chat, "root")

    await chat.resume()

    assert oracle.lines == []
