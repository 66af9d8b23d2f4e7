"""The result that a client posts for a long-running call reaches the model, also after the model said that it waits."""

from adk_kit import ListedModel, agent, ask, shown, words
from google.adk.tools.long_running_tool import LongRunningFunctionTool


async def test_the_model_is_asked_again_when_the_client_answers(oracle, make_chat):
    model = ListedModel([ask("render", "a", call_id="shot")], "waiting", "finished")
    render = oracle.function("render", lambda _: {"status": "pending"})
    chat = make_chat(agent(model, LongRunningFunctionTool(render)))
    assert words(await chat.say()) == ["waiting"]

    events = await chat.post({"shot": {"status": "done"}})

    assert words(events) == ["finished"]
    assert oracle.lines == ["render:a"]
    assert shown(model)["responses"] == {"render": {"status": "done"}}
