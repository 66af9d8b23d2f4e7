"""An app that cannot be resumed, and is allowed to run so, behaves as without the plugin: ADK's own confirmation included."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from google.adk.tools.function_tool import FunctionTool


@pytest.mark.parametrize(("said", "effects"), [("approve", ["wipe:a"]), ("reject", [])])
async def test_a_confirmation_of_adk_takes_adks_own_way(
    oracle, make_chat, make_durable, said, effects
):
    def wipe(x: str) -> dict[str, str]:
        """wipe"""
        oracle.write(f"wipe:{x}")
        return {"wiped": x}

    root = agent(ScriptedModel([ask("wipe", "a")]), FunctionTool(wipe, require_confirmation=True))
    chat = make_chat(root, with_=make_durable(allow_unsaved=True), resumable=False)
    await chat.say()

    await chat.answer(said)

    assert oracle.lines == effects
    assert await chat.pending() == []
