"""Toolsets of an MCP server: prefixed copies are protected by their own names, and wrapped ones without the plugin."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_mcp import toolset
from adk_stage import Stopping, stop
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset

from agent_adapter.policies import ToolPolicy


async def test_a_prefixed_tool_is_replayed(tmp_path, make_chat, oracle):
    def root():
        return agent(
            ScriptedModel([ask("desk_pay", "a")]), toolset(tmp_path, tool_name_prefix="desk")
        )

    await stop(make_chat(root(), plugins=(Stopping(),)))
    events = await make_chat(root()).resume()

    assert responses(events)["desk_pay"]["structuredContent"] == {"did": "pay a"}
    assert oracle.lines == ["pay:a"]


async def test_a_policy_goes_by_the_prefixed_name(tmp_path, make_durable, make_chat, oracle):
    durable = make_durable(policies={"desk_pay": ToolPolicy(confirm=True)})
    tools = toolset(tmp_path, tool_name_prefix="desk")
    chat = make_chat(agent(ScriptedModel([ask("desk_pay", "a")]), tools), with_=durable)

    await chat.say()
    (question,) = await chat.pending()
    before = oracle.lines
    await chat.answer("approve")

    assert (question.tool, question.cause, before) == ("desk_pay", "approval", [])
    assert oracle.lines == ["pay:a"]


@pytest.mark.parametrize("plugin", [False, True], ids=["alone", "beside the plugin"])
async def test_a_wrapped_toolset_asks_about_a_dead_server(
    *, tmp_path, durable, make_chat, oracle, plugin
):
    (tools,) = durable.wrap([toolset(tmp_path, dies="pay:a")])
    chat = make_chat(
        agent(ScriptedModel([ask("pay", "a")]), tools), with_=durable if plugin else None
    )
    chat.durable = durable

    await chat.say()
    (question,) = await chat.pending()
    await chat.answer({"type": "respond", "message": {"did": "seen"}})

    assert isinstance(tools, McpToolset)
    assert (question.tool, question.cause) == ("pay", "raised")
    assert responses((await chat.session()).events) == {"pay": {"did": "seen"}}
    assert oracle.lines == ["pay:a"]
