"""Long-running calls of one turn whose clients answer one at a time are each started once."""

from adk_kit import ScriptedModel, agent, ask, shown
from google.adk.tools.long_running_tool import LongRunningFunctionTool


async def test_long_running_calls_are_started_once_however_their_answers_come(oracle, make_chat):
    ids = ["1", "2", "3"]
    model = ScriptedModel([ask("render", name, call_id=f"shot-{name}") for name in ids], "waiting")
    render = oracle.function("render", lambda x: {"status": "pending", "ticket": x})
    chat = make_chat(agent(model, LongRunningFunctionTool(render)))
    await chat.say()

    for name in ids:
        await chat.post({f"shot-{name}": {"status": "done", "ticket": name}})

    assert sorted(oracle.lines) == ["render:1", "render:2", "render:3"]
    assert shown(model)["calls"] == ["render"] * 3
