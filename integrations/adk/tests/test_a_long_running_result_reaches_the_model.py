"""The result that a client posts for a long-running call reaches the model, also after the model said that it waits."""

from adk_kit import ListedModel, agent, ask, shown, words
from google.adk.events.event import Event
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types


async def test_the_model_is_asked_again_when_the_client_answers(oracle, make_chat):
    model = ListedModel([ask("render", "a", call_id="shot")], "waiting", "finished")
    render = oracle.function("render", lambda _: {"status": "pending"})
    chat = make_chat(agent(model, LongRunningFunctionTool(render)))
    assert words(await chat.say()) == ["waiting"]

    events = await chat.post({"shot": {"status": "done"}})

    assert words(events) == ["finished"]
    assert oracle.lines == ["render:a"]
    assert shown(model)["responses"] == {"render": {"status": "done"}}


async def test_so_it_is_when_the_worker_died_right_after_the_answer_was_stored(oracle, make_chat):
    model = ListedModel([ask("render", "a", call_id="shot")], "waiting", "finished")
    render = oracle.function("render", lambda _: {"status": "pending"})
    chat = make_chat(agent(model, LongRunningFunctionTool(render)))
    await chat.say()
    session = await chat.session()
    answer = types.FunctionResponse(id="shot", name="render", response={"status": "done"})
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    invocation = session.events[0].invocation_id
    stored = Event(invocation_id=invocation, author="user", content=content)
    await chat.service.append_event(session, stored)

    assert words(await chat.resume()) == ["finished"]

    assert oracle.lines == ["render:a"]
    assert shown(model)["responses"] == {"render": {"status": "done"}}
    assert await chat.resume() == []
