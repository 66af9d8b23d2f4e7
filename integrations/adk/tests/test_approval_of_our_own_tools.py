"""A tool of this package brings its own `confirm` with it, and edits are checked by its own schema."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses

from agent_adapter import tool


@pytest.fixture
async def asked(oracle, durable, make_chat):
    """A chat in which a payment waits."""

    @tool(confirm=True)
    async def pay(cents: int) -> dict[str, int]:
        """Pay."""
        oracle.write(f"pay:{cents}")
        return {"paid": cents}

    chat = make_chat(agent(ScriptedModel([ask("pay", cents=5)]), durable.tool(pay)))
    await chat.say()
    return chat


async def test_it_is_asked_about_and_runs_once_it_is_approved(asked, oracle):
    (question,) = await asked.pending()
    before = oracle.lines
    events = await asked.answer("approve")
    assert (question.tool, question.arguments, before) == ("pay", {"cents": 5}, [])
    assert responses(events) == {"pay": {"paid": 5}}
    assert oracle.lines == ["pay:5"]


async def test_an_edit_that_fits_is_what_runs(asked, oracle):
    await asked.answer({"type": "edit", "args": {"cents": 4}})
    assert oracle.lines == ["pay:4"]


@pytest.mark.parametrize("edited", [{"cents": "many"}, {"euros": 1}, {}], ids=str)
async def test_an_edit_that_does_not_fit_is_asked_about_again(asked, oracle, edited):
    await asked.answer({"type": "edit", "args": edited})
    (again,) = await asked.pending()
    assert (again.arguments, oracle.lines) == ({"cents": 5}, [])
    assert again.payload["note"].endswith("nothing was decided")
