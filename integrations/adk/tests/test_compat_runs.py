"""What ADK does with what plugins say before a run: undocumented, and what the bridge stands on."""

import pytest
from adk_kit import ScriptedModel, agent
from adk_plugins import plugin
from google.genai import types

from agent_adapter_adk import _compat  # the file of these very names


async def test_a_message_can_be_refused_before_it_is_stored(make_chat):
    async def refuse(**_):
        raise ValueError("no")

    chat = make_chat(
        agent(ScriptedModel()), with_=None, plugins=(plugin(on_user_message_callback=refuse),)
    )

    with pytest.raises(RuntimeError) as refused:
        await chat.say()

    assert type(refused.value.__cause__) is ValueError
    assert (await chat.session()).events == []


async def test_an_empty_content_ends_the_run_before_it_begins(make_chat):
    async def end(*, invocation_context):
        return types.Content(role="model", parts=[])

    model = ScriptedModel("hi")
    chat = make_chat(agent(model), with_=None, plugins=(plugin(before_run_callback=end),))

    (event,) = await chat.say()

    assert (event.author, model.seen) == (_compat.EARLY_EXIT, [])


async def test_the_list_of_events_is_what_adk_goes_by(make_chat):
    async def forget(*, invocation_context):
        events = invocation_context.session.events
        invocation_context.session.events = events[-1:]

    model = ScriptedModel("hi", "hi")
    chat = make_chat(agent(model), with_=None, plugins=(plugin(before_run_callback=forget),))
    await chat.say("one")
    await chat.say("two")

    assert [part.text for content in model.seen[-1] for part in content.parts] == ["two"]
