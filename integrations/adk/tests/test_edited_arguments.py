"""Arguments that a person edits are checked against the tool; what does not fit decides nothing and is asked again."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses

from agent_adapter.policies import ToolPolicy


@pytest.fixture
async def asked(oracle, make_durable, make_chat):
    """A chat in which a payment waits, and its question."""

    async def pay(cents: int, to: str = "a") -> dict[str, int]:
        """pay"""
        oracle.write(f"pay:{cents}:{to}")
        return {"paid": cents}

    durable = make_durable(policies={"pay": ToolPolicy(confirm=True)})
    chat = make_chat(agent(ScriptedModel([ask("pay", cents=5)]), pay), with_=durable)
    await chat.say()
    (question,) = await chat.pending()
    return chat, question


@pytest.mark.parametrize(
    "edited", [{"cents": "many"}, {"cents": 1, "tip": 1}, {"to": "b"}, {}], ids=str
)
async def test_arguments_that_do_not_fit_are_asked_about_again(asked, oracle, edited):
    chat, question = asked

    events = await chat.answer({"type": "edit", "args": edited})

    (again,) = await chat.pending()
    assert oracle.lines == []
    assert responses(events)["pay"]["status"] == "pending"
    assert again.id != question.id
    assert again.arguments == {"cents": 5}
    assert (
        again.payload["note"]
        == "the tool does not accept the edited arguments; nothing was decided"
    )


async def test_after_a_bad_edit_a_good_answer_counts(asked, oracle):
    chat, _ = asked
    await chat.answer({"type": "edit", "args": {"cents": "many"}})
    events = await chat.answer({"type": "edit", "args": {"cents": 4}})
    assert oracle.lines == ["pay:4:a"]
    assert responses(events) == {"pay": {"paid": 4}}


async def test_the_shown_payload_sent_back_with_other_arguments_is_an_edit(asked, oracle):
    chat, question = asked
    changed = {**question.payload, "args": {"cents": 3}}
    await chat.post({question.id: {"confirmed": True, "payload": changed}})
    assert oracle.lines == ["pay:3:a"]


async def test_the_shown_payload_sent_back_unchanged_is_an_approval(asked, oracle):
    chat, question = asked
    await chat.post({question.id: {"confirmed": True, "payload": question.payload}})
    assert oracle.lines == ["pay:5:a"]
