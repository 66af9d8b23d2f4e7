"""Wrapped tools in an app without the plugin: their calls are recorded, and answers reach them by ADK's own ways."""

import pytest
from adk_chat import Chat
from adk_kit import ScriptedModel, agent, ask, responses, service_on
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool

from agent_adapter.errors import ConfigError
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk import DurableTools

CONFIRM = {"charge": ToolPolicy(confirm=True)}
ANSWERS = [
    ("approve", ["charge:a"], {"did": "charge a"}),
    ({"type": "edit", "args": {"x": "b"}}, ["charge:b"], {"did": "charge b"}),
    ({"type": "respond", "message": "paid"}, [], {"result": "paid"}),
    ({"type": "reject", "message": "too much"}, [], {"error": "too much"}),
]


def test_a_wrapped_tool_is_a_tool_of_its_own_class(tmp_path, oracle):
    charge = oracle.tool("charge")

    (wrapped,) = DurableTools(tmp_path / "runs.db").wrap([charge])

    assert isinstance(wrapped, FunctionTool)
    assert (wrapped.name, wrapped is charge) == ("charge", False)


@pytest.mark.parametrize("plugin", [False, True], ids=["alone", "beside the plugin"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_wrapped_call_waits_and_is_answered(tmp_path, oracle, plugin, answer):
    said, effects, answered = answer
    durable = DurableTools(tmp_path / "runs.db", policies=CONFIRM)
    root = agent(ScriptedModel([ask("charge", "a")]), *durable.wrap([oracle.function("charge")]))
    chat = Chat(durable if plugin else None, root, service_on(tmp_path / "sessions.db"))
    chat.durable = durable

    await chat.say()
    waited = (oracle.lines, [each.cause for each in await chat.pending()])
    events = await chat.answer(said)

    assert waited == ([], ["approval"])
    assert (oracle.lines, responses(events)) == (effects, {"charge": answered})
    assert await chat.pending() == []


def test_a_tool_that_runs_an_agent_is_not_wrapped(tmp_path):
    inside = AgentTool(agent(ScriptedModel(), name="sub"))
    with pytest.raises(ConfigError, match="would not be protected"):
        DurableTools(tmp_path / "runs.db").wrap([inside])
