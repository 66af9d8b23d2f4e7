"""An agent that is used as a tool can itself need approval: nothing inside it runs before that."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from google.adk.tools.agent_tool import AgentTool

from agent_adapter.policies import ToolPolicy


@pytest.fixture
async def asked(oracle, make_chat, make_durable):
    """A chat in which the use of an agent waits for approval."""
    durable = make_durable(policies={"helper": ToolPolicy(confirm=True)})
    helper = agent(ScriptedModel([ask("mail", "a")], "helped"), oracle.tool("mail"), name="helper")
    root = agent(ScriptedModel([ask("helper", request="go")]), AgentTool(helper))
    chat = make_chat(root, with_=durable)
    await chat.say()
    return chat


async def test_an_agent_is_not_started_before_its_use_is_approved(asked, oracle):
    (question,) = await asked.pending()
    before = oracle.lines
    events = await asked.answer("approve")
    assert (question.tool, question.arguments, before) == ("helper", {"request": "go"}, [])
    assert responses(events) == {"helper": {"result": "helped"}}
    assert oracle.lines == ["mail:a"]


async def test_an_agent_whose_use_is_refused_is_never_started(asked, oracle):
    events = await asked.answer({"type": "reject", "message": "no help"})
    assert responses(events) == {"helper": {"error": "no help"}}
    assert oracle.lines == []
