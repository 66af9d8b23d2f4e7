"""When ADK calls plugins and tools, and what it does with their answers: undocumented, and what the bridge stands on."""

from contextvars import ContextVar

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agent_adapter_adk import _compat  # the file of these very names

ANNOUNCED = ContextVar("announced", default="")


class Stop(BaseException):
    """Ends a run."""


def plugin(**callbacks):
    """A plugin with these callbacks."""
    kind = type("Plugin", (BasePlugin,), {n: staticmethod(call) for n, call in callbacks.items()})
    return kind(name="plugin")


@pytest.fixture
def say(make_chat, oracle):
    """Say "go" to an agent that charges once, in an app with this plugin; the tool, the model, the chat and the events."""

    async def run(then=None, **callbacks):
        tool, model = oracle.tool("charge", then), ScriptedModel([ask("charge", "a")])
        given = {name: call(tool) for name, call in callbacks.items()}
        chat = make_chat(agent(model, tool), with_=None, plugins=(plugin(**given),))
        return model, chat, await chat.say()

    return run


async def test_a_method_of_the_instance_is_what_runs(say, oracle):
    def before(tool):
        async def before_tool(*, tool, tool_args, tool_context):
            async def run_async(*, args, tool_context):
                return {"patched": args["x"]}

            tool.run_async = run_async

        return before_tool

    _, _, events = await say(before_tool_callback=before)

    assert responses(events) == {"charge": {"patched": "a"}}
    assert oracle.lines == []


async def test_the_instance_is_asked_whether_a_call_needs_a_person(say, oracle):
    def before(tool):
        async def before_tool(*, tool, tool_args, tool_context):
            async def check_require_confirmation(args, tool_context):
                return True

            tool.check_require_confirmation = check_require_confirmation

        return before_tool

    _, _, events = await say(before_tool_callback=before)

    assert any(call.name == _compat.CONFIRMATION for e in events for call in e.get_function_calls())
    assert oracle.lines == []


async def test_a_tool_runs_in_the_task_of_its_callbacks(say):
    def before(tool):
        async def before_tool(*, tool_args, **_):
            ANNOUNCED.set(tool_args["x"])

        return before_tool

    _, _, events = await say(lambda _: {"seen": ANNOUNCED.get()}, before_tool_callback=before)

    assert responses(events) == {"charge": {"seen": "a"}}


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


async def test_an_empty_content_ends_the_run_before_it_begins(say, oracle):
    def before(tool):
        async def before_run(*, invocation_context):
            return types.Content(role="model", parts=[])

        return before_run

    model, _, (event,) = await say(before_run_callback=before)

    assert (event.author, model.seen, oracle.lines) == (_compat.EARLY_EXIT, [], [])


async def test_the_list_of_events_is_what_adk_goes_by(make_chat):
    async def forget(*, invocation_context):
        events = invocation_context.session.events
        invocation_context.session.events = events[-1:]

    model = ScriptedModel("hi", "hi")
    chat = make_chat(agent(model), with_=None, plugins=(plugin(before_run_callback=forget),))
    await chat.say("one")
    await chat.say("two")

    assert [part.text for content in model.seen[-1] for part in content.parts] == ["two"]


async def test_a_tool_that_is_unknown_comes_as_a_bare_tool(make_chat):
    kinds = []

    async def look(*, tool, **_):
        kinds.append(type(tool))

    root = agent(ScriptedModel([ask("nothing", "a")]))
    await make_chat(root, with_=None, plugins=(plugin(before_tool_callback=look),)).say()

    assert kinds == [BaseTool]


async def test_nothing_is_stored_after_what_is_no_exception(make_chat, oracle):
    def stops(_):
        raise Stop

    chat = make_chat(
        agent(ScriptedModel([ask("charge", "a")]), oracle.tool("charge", stops)), with_=None
    )

    with pytest.raises(Stop):
        await chat.say()

    events = (await chat.session()).events
    assert [call.name for call in events[-1].get_function_calls()] == ["charge"]
