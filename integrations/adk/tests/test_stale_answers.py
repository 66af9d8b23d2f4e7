"""An answer for another question, for an old one, or for none, and one that contradicts itself, decides nothing."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from google.genai import types

from agent_adapter.errors import ApprovalConflict, ToolUsageError
from agent_adapter.policies import ToolPolicy

YES, NO = {"confirmed": True}, {"confirmed": False}


@pytest.fixture
async def two_asked(oracle, make_durable, make_chat):
    """A chat with two questions of one turn, and these."""
    durable = make_durable(policies={"wipe": ToolPolicy(confirm=True)})
    turn = [ask("wipe", "a"), ask("wipe", "b")]
    chat = make_chat(agent(ScriptedModel(turn), oracle.tool("wipe")), with_=durable)
    await chat.say()
    return chat, await chat.pending()


def answer(name, response):
    said = types.FunctionResponse(id=name, name="adk_request_confirmation", response=response)
    return types.Part(function_response=said)


async def refusal(chat, *parts):
    """Why these answers are refused; nothing of them is stored, and every question is as open as before."""
    before, open_before = (await chat.session()).events, await chat.pending()
    with pytest.raises((RuntimeError, ValueError)) as refused:
        await chat.run(types.Content(role="user", parts=list(parts)))
    assert (await chat.session()).events == before
    assert await chat.pending() == open_before
    return type(refused.value.__cause__ or refused.value)


async def test_an_answer_to_an_unknown_question_is_refused(two_asked, oracle):
    chat, _ = two_asked
    assert await refusal(chat, answer("adk-0", YES)) is ValueError
    assert oracle.lines == []


async def test_a_good_answer_beside_one_to_an_unknown_question_is_not_stored(two_asked, oracle):
    chat, (one, _) = two_asked
    await refusal(chat, answer(one.id, YES), answer("adk-0", YES))
    assert oracle.lines == []


async def test_a_good_answer_beside_a_malformed_one_is_not_stored(two_asked, oracle):
    chat, (one, other) = two_asked
    parts = answer(one.id, YES), answer(other.id, {"confirmed": "yes"})
    assert await refusal(chat, *parts) is ToolUsageError
    assert oracle.lines == []


async def test_a_payload_that_names_another_question_is_refused(two_asked, oracle):
    chat, (one, other) = two_asked
    swapped = {"confirmed": True, "payload": other.payload}
    assert await refusal(chat, answer(one.id, swapped)) is ToolUsageError
    decisions = {"confirmed": True, "payload": {"decisions": {other.request_id: "approve"}}}
    assert await refusal(chat, answer(one.id, decisions)) is ToolUsageError
    assert oracle.lines == []


async def test_one_message_that_says_yes_and_no_is_refused(two_asked, oracle):
    chat, (one, _) = two_asked
    assert await refusal(chat, answer(one.id, YES), answer(one.id, NO)) is ApprovalConflict
    assert oracle.lines == []


async def test_a_question_that_was_asked_again_takes_no_answer_to_its_old_form(two_asked, oracle):
    chat, _ = two_asked
    edit = {"type": "edit", "args": {"x": 1}}
    asked = await chat.pending()
    await chat.answer(edit, "reject")
    (again,) = await chat.pending()
    assert again.id not in [each.id for each in asked]
    assert await refusal(chat, answer(asked[0].id, YES)) is ApprovalConflict
    await chat.answer("approve")
    assert oracle.lines == ["wipe:a"]
