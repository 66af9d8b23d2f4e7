"""A call whose stored arguments are others than those it began with is a question, and never a run."""

import pytest
from adk_edit import change_arguments
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage, Stopping, stop


@pytest.fixture
async def changed(tmp_path, make_chat):
    """A chat with a finished payment whose call was given another argument before its answer was stored."""

    def root():
        return agent(ScriptedModel([ask("pay", "a")]), Stage(tmp_path).tool("pay"))

    await stop(make_chat(root(), plugins=(Stopping(),)))
    change_arguments(tmp_path / "sqlite.db", "pay", {"x": "b"})
    return make_chat(root())


async def test_it_is_asked_about_with_what_it_began_with(changed, oracle):
    await changed.resume()

    (asked,) = await changed.pending()

    assert (asked.tool, asked.cause, asked.arguments) == ("pay", "changed", {"x": "a"})
    assert oracle.lines == ["pay:a"]


@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        ("approve", ["pay:a", "pay:b"], {"did": "pay b"}),
        ({"type": "respond", "message": {"did": "seen"}}, ["pay:a"], {"did": "seen"}),
        ({"type": "reject", "message": "no"}, ["pay:a"], {"error": "no"}),
    ],
    ids=["approve", "respond", "reject"],
)
async def test_the_answer_decides(*, changed, oracle, said, effects, answer):
    await changed.resume()

    events = await changed.answer(said)

    assert (responses(events), oracle.lines) == ({"pay": answer}, effects)
