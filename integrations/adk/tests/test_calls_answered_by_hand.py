"""A call in doubt that its client answers itself is no question any more, and never runs again."""

from adk_kit import ScriptedModel, agent, ask, responses, words
from adk_stage import Stage


def root(stage):
    return agent(ScriptedModel([ask("pay", "a", call_id="1")]), stage.tool("pay"))


def killed(folder):
    Stage(folder, "pay:a").perform(root)


async def test_its_question_is_closed(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    before = [each.cause for each in await chat.pending()]

    events = await chat.post({"1": {"did": "seen"}})

    assert (before, await chat.pending()) == (["died"], [])
    assert responses((await chat.session()).events) == {"pay": {"did": "seen"}}
    assert words(events) == ["done"]
    assert oracle.lines == ["pay:a"]
