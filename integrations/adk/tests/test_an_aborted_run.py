"""A run whose client went away gets true answers: results of what has ended, and a plain word about what has not."""

import asyncio

from adk_kit import ScriptedModel, agent, ask, responses, shown
from adk_stage import Ended
from google.adk.tools.tool_context import ToolContext

TURN = [ask("charge", "a"), ask("slow", "b"), ask("late", "c")]
ABORTED = "Invocation was aborted by client."


async def aborted(oracle, make_chat):
    ended, begun = Ended(), asyncio.Event()

    async def slow(x: str, tool_context: ToolContext) -> dict[str, str]:
        """slow"""
        oracle.write(f"slow:{x}")
        begun.set()
        await ended.wait("charge:a")
        tool_context.get_invocation_context().abort()
        await asyncio.sleep(0)
        return {"slow": x}

    model = ScriptedModel(TURN[:2], "aborted")
    chat = make_chat(agent(model, oracle.tool("charge"), slow), plugins=(ended,))
    return chat, model, await chat.say()


async def test_a_finished_sibling_keeps_its_result(oracle, make_chat):
    _, _, events = await aborted(oracle, make_chat)
    assert responses(events)["charge"] == {"did": "charge a"}
    assert sorted(oracle.lines) == ["charge:a", "slow:b"]


async def test_the_next_turn_of_the_model_knows_what_happened(oracle, make_chat):
    chat, model, _ = await aborted(oracle, make_chat)
    await chat.say("and now?")
    assert shown(model)["responses"]["charge"] == {"did": "charge a"}
