"""A tool that asks from its own body, inside an agent that is used as a tool, is heard by the caller too."""

from adk_kit import ScriptedModel, agent, ask
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext


async def test_a_question_from_a_body_inside_surfaces(oracle, make_chat):
    async def spend(x: str, tool_context: ToolContext) -> dict[str, object]:
        """spend"""
        said = tool_context.tool_confirmation
        if said is None:
            tool_context.request_confirmation(hint=f"spend {x}?", payload={"limit": 5})
            return {"status": "asked"}
        oracle.write(f"spend:{said.confirmed}")
        return {"spent": said.confirmed}

    inner = AgentTool(agent(ScriptedModel([ask("spend", "a")]), spend, name="inner"))
    chat = make_chat(agent(ScriptedModel([ask("inner", request="go")]), inner))
    await chat.say()
    assert [each.tool for each in await chat.pending()] == ["spend"]

    await chat.answer("approve")

    assert oracle.lines == ["spend:True"]
