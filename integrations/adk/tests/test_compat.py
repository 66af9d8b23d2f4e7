"""Names in stored events that ADK does not promise and the bridge reads, on bare ADK: a version that changes one turns red."""

import asyncio

import pytest
from adk_kit import ScriptedModel, agent, ask
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow

from agent_adapter_adk import _compat  # the file of these very names


@pytest.fixture
def bare(make_chat):
    """Make a chat of an app without the plugin."""
    return lambda root, **settings: make_chat(root, with_=None, **settings)


def calls(events):
    return [call for event in events for call in event.get_function_calls()]


async def give() -> str:
    return "a"


async def test_a_question_about_a_call_is_a_call_of_its_own(bare, oracle):
    charge = oracle.tool("charge", require_confirmation=True)

    events = await bare(agent(ScriptedModel([ask("charge", "a", call_id="1")]), charge)).say()

    asked = next(call for call in calls(events) if call.name == _compat.CONFIRMATION)
    (placeholder,) = [event for event in events if event.get_function_responses()]
    assert asked.args["originalFunctionCall"] == {"id": "1", "name": "charge", "args": {"x": "a"}}
    assert asked.args["toolConfirmation"]["confirmed"] is False
    assert list(placeholder.actions.requested_tool_confirmations) == ["1"]
    assert placeholder.get_function_responses()[0].id == "1"


async def test_a_tool_node_asks_under_its_path(bare, oracle):
    charge = oracle.tool("charge", require_confirmation=True)

    events = await bare(Workflow(name="root", edges=[(START, give, charge)])).say()

    (asked,) = calls(events)
    assert (asked.id, asked.name) == (
        f"{_compat.NODE_CONFIRMATION}root@1/charge@1",
        _compat.INPUT,
    )
    assert asked.args["payload"]["tool_name"] == "charge"
    assert asked.args["payload"]["args"] == {"x": "a"}


async def test_ids_that_adk_makes_can_be_told(bare, oracle):
    events = await bare(agent(ScriptedModel([ask("charge", "a")]), oracle.tool("charge"))).say()

    assert calls(events)[0].id.startswith(_compat.MADE_ID)


async def test_made_up_answers_of_an_aborted_run_can_be_told(bare):
    async def abort(tool_context: ToolContext) -> None:
        """Abort."""
        tool_context.get_invocation_context().abort()
        await asyncio.sleep(0)

    events = await bare(agent(ScriptedModel([ask("abort")], "done"), abort)).say()

    (sealed,) = [event for event in events if event.error_code == _compat.ABORTED]
    assert "error" in sealed.get_function_responses()[0].response


async def test_the_call_of_an_agent_is_the_last_part_of_its_branch(bare, oracle):
    inside = agent(
        ScriptedModel([ask("charge", "a")]),
        oracle.tool("charge"),
        name="inside",
        mode="single_turn",
    )
    root = agent(ScriptedModel([ask("inside", request="go", call_id="7")]), sub_agents=[inside])

    events = await bare(root).say()

    branches = {event.branch for event in events if event.author == "inside"}
    assert branches == {"inside@7"}
