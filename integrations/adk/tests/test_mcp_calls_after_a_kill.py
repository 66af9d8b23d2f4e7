"""Calls of an MCP server over stdio: finished ones are answered from the record, one that was under way is asked about."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_mcp import toolset
from adk_stage import Stage, to_the_end


def root(stage, **plan):
    """Pays by the server, then charges in this process."""
    model = ScriptedModel([ask("pay", "a")], [ask("charge", "b")])
    return agent(model, toolset(stage.folder, **plan), stage.tool("charge"))


def killed_later(folder):
    Stage(folder, "charge:b").perform(root)


def killed_in_the_call(folder):
    Stage(folder).perform(lambda stage: root(stage, kills="pay:a"))


def content(events, tool="pay"):
    return responses(events)[tool]["content"][0]["text"]


async def test_a_finished_call_is_answered_from_the_record(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed_later, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    before = responses((await chat.session()).events)["pay"]

    asked = await to_the_end(chat, oracle)

    assert asked == ["charge:b"]
    assert oracle.lines == ["pay:a", "charge:b"]
    assert responses((await chat.session()).events)["pay"] == before


@pytest.mark.parametrize(
    ("said", "effects"),
    [
        ("approve", ["pay:a", "pay:a", "charge:b"]),
        ({"type": "respond", "message": {"did": "seen"}}, ["pay:a", "charge:b"]),
        ({"type": "reject", "message": "no"}, ["pay:a", "charge:b"]),
    ],
    ids=["run it again", "it happened", "do not run it"],
)
async def test_a_call_under_way_is_asked_about(
    *, tmp_path, in_child, make_chat, oracle, said, effects
):
    assert in_child(killed_in_the_call, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    (question,) = await chat.pending()
    before = oracle.lines

    await chat.answer(said)

    assert (question.tool, question.arguments, question.cause) == ("pay", {"x": "a"}, "died")
    assert before == ["pay:a"]
    assert oracle.lines == effects
    assert await chat.pending() == []
