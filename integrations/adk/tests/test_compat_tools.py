"""How ADK runs a tool between its callbacks: undocumented, and what the bridge stands on."""

from contextvars import ContextVar

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_plugins import plugin
from google.adk.tools.base_tool import BaseTool

from agent_adapter_adk import _compat  # the file of these very names

ANNOUNCED = ContextVar("announced", default="")


class Stop(BaseException):
    """Ends a run."""


@pytest.fixture
def say(make_chat, oracle):
    """Say "go" to an agent that charges once, in an app with this plugin; the events."""

    async def run(then=None, **callbacks):
        root = agent(ScriptedModel([ask("charge", "a")]), oracle.tool("charge", then))
        chat = make_chat(root, with_=None, plugins=(plugin(**callbacks),))
        return await chat.say()

    return run


async def test_a_method_of_the_instance_is_what_runs(say, oracle):
    async def before_tool(*, tool, tool_args, tool_context):
        async def run_async(*, args, tool_context):
            return {"patched": args["x"]}

        tool.run_async = run_async

    events = await say(before_tool_callback=before_tool)

    assert responses(events) == {"charge": {"patched": "a"}}
    assert oracle.lines == []


async def test_the_instance_is_asked_whether_a_call_needs_a_person(say, oracle):
    async def before_tool(*, tool, tool_args, tool_context):
        async def check_require_confirmation(args, tool_context):
            return True

        tool.check_require_confirmation = check_require_confirmation

    events = await say(before_tool_callback=before_tool)

    assert any(call.name == _compat.CONFIRMATION for e in events for call in e.get_function_calls())
    assert oracle.lines == []


async def test_a_tool_runs_in_the_task_of_its_callbacks(say):
    async def before_tool(*, tool_args, **_):
        ANNOUNCED.set(tool_args["x"])

    events = await say(lambda _: {"seen": ANNOUNCED.get()}, before_tool_callback=before_tool)

    assert responses(events) == {"charge": {"seen": "a"}}


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
