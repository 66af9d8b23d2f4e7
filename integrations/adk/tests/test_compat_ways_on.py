"""How bare ADK goes on with an invocation from its session's events: the one way that the bridge leads every other into."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from google.adk.events.event import Event
from google.genai import types

TURN = [ask("charge", "a", call_id="1"), ask("pay", "b", call_id="2")]


@pytest.fixture
async def go_on(make_chat, oracle):
    """Go on with a stored invocation that has one turn of calls, and one answer by this author if there is one."""

    async def run(author=None, *, turn=None, long_running=None):
        model = ScriptedModel(TURN)
        chat = make_chat(agent(model, oracle.tool("charge"), oracle.tool("pay")), with_=None)
        session = await chat.service.create_session(
            app_name="shop", user_id="user", session_id="session"
        )
        answer = types.FunctionResponse(id="1", name="charge", response={"did": "charge a"})
        stored = [("user", [types.Part(text="go")]), ("root", TURN)]
        if author:
            stored.append((author, [types.Part(function_response=answer)]))
        for who, parts in stored:
            calls = parts is TURN
            event = Event(
                invocation_id="e-1",
                author=who,
                content=types.Content(role="model" if calls else "user", parts=parts),
                long_running_tool_ids=long_running if calls else None,
            )
            event.node_info.path = "root@1" if who == "root" else ""
            await chat.service.append_event(session, event)
        return model, await chat.run(invocation_id="e-1")

    return run


async def test_calls_without_an_answer_run_under_their_own_ids(go_on, oracle):
    _, events = await go_on()

    answered = [each.id for event in events for each in event.get_function_responses()]
    assert answered == ["1", "2"]
    assert oracle.lines == ["charge:a", "pay:b"]


async def test_no_model_is_asked_before_they_run(go_on):
    model, _ = await go_on()
    assert len(model.seen) == 1


async def test_an_answer_by_the_user_leaves_the_rest_to_run(go_on, oracle):
    _, events = await go_on("user")

    assert responses(events) == {"pay": {"did": "pay b"}}
    assert oracle.lines == ["pay:b"]


async def test_an_answer_by_the_agent_ends_the_batch(go_on, oracle):
    """The gap behind `Mends.partial`, https://github.com/google/adk-python/issues/7108."""
    await go_on("root")
    assert oracle.lines == []


async def test_a_long_running_call_holds_its_siblings(go_on, oracle):
    """The gap behind `Mends.long_running`."""
    model, events = await go_on("user", long_running={"2"})
    assert (oracle.lines, model.seen) == ([], [])
    assert responses(events) == {}
