"""An MCP server that dies in the middle of a call leaves a question, although ADK makes an error result of it."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_mcp import toolset

SEEN = {"type": "respond", "message": {"did": "seen"}}


@pytest.fixture
def dying(tmp_path):
    """An agent whose payment kills the server after its effect."""
    return agent(ScriptedModel([ask("pay", "a")]), toolset(tmp_path, dies="pay:a"))


async def test_the_bare_framework_tells_the_model_that_it_failed(dying, make_chat, oracle):
    """The gap: the model is told of a failure, and the effect is there."""
    events = await make_chat(dying, with_=None).say()

    assert list(responses(events)["pay"]) == ["error"]
    assert oracle.lines == ["pay:a"]


@pytest.mark.parametrize(
    ("said", "effects"),
    [(SEEN, ["pay:a"]), ("reject", ["pay:a"]), ("approve", ["pay:a", "pay:a"])],
    ids=["it happened", "do not run it", "run it again"],
)
async def test_a_person_decides(*, dying, make_chat, oracle, said, effects):
    chat = make_chat(dying)
    await chat.say()
    (question,) = await chat.pending()
    before = oracle.lines

    events = await chat.answer(said)

    assert (question.tool, question.cause, before) == ("pay", "raised", ["pay:a"])
    assert oracle.lines == effects
    assert list(responses(events)) == ["pay"]
    assert await chat.pending() == []


async def test_it_is_not_run_again_by_itself(dying, make_chat, oracle):
    chat = make_chat(dying)
    await chat.say()

    again = await chat.resume()

    assert (again, oracle.lines, len(await chat.pending())) == ([], ["pay:a"], 1)
