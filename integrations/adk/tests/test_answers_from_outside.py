"""`pending`, `answer` and `resume`: a session whose run is over is asked, answered and taken up again from outside."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses

from agent_adapter.errors import ToolUsageError
from agent_adapter_adk import OpenQuestion


@pytest.fixture
def make_worker(oracle, make_chat, make_durable):
    def made():
        tools = oracle.tool("wipe", require_confirmation=True), oracle.tool("mail")
        model = ScriptedModel([ask("wipe", "a", call_id="1")], [ask("mail", "b", call_id="2")])
        return make_chat(agent(model, *tools), with_=make_durable())

    return made


async def test_pending_tells_everything_about_an_open_question(make_worker):
    first = make_worker()
    (begun, *_) = await first.say()
    (asked,) = await make_worker().pending()
    assert asked == OpenQuestion(
        id=asked.id,
        invocation_id=begun.invocation_id,
        tool="wipe",
        arguments={"x": "a"},
        cause="native",
        hint=asked.hint,
        request_id="",
        inside=(),
        payload=None,
    )
    assert "wipe" in asked.hint


async def test_an_answer_to_no_open_question_is_refused_and_nothing_is_posted(make_worker, oracle):
    chat = make_worker()
    await chat.say()
    (asked,) = await chat.pending()
    before = (await chat.session()).events
    durable, session = chat.durable, await chat.session()
    for answers in ({"adk-0": "approve"}, {asked.id: "approve", "adk-0": "approve"}):
        with pytest.raises(ToolUsageError, match="no open question"):
            await durable.answer(chat.runner, session, answers)
    assert (await chat.session()).events == before
    assert oracle.lines == []


async def test_an_answered_question_is_open_no_more(make_worker, oracle):
    chat = make_worker()
    await chat.say()
    (asked,) = await chat.pending()
    await chat.answer("approve")
    with pytest.raises(ToolUsageError, match="no open question"):
        await chat.durable.answer(chat.runner, await chat.session(), {asked.id: "approve"})
    assert oracle.lines == ["wipe:a", "mail:b"]


async def test_resume_does_nothing_while_a_question_is_open(make_worker, oracle):
    await make_worker().say()
    later = make_worker()
    before = (await later.session()).events
    assert await later.resume() == []
    assert (await later.session()).events == before
    assert oracle.lines == []


async def test_adks_own_way_to_go_on_runs_nothing_while_a_question_is_open(make_worker, oracle):
    (begun, *_) = await make_worker().say()
    later = make_worker()
    asked = await later.pending()
    await later.run(invocation_id=begun.invocation_id)
    assert (oracle.lines, await later.pending()) == ([], asked)
    await later.answer("approve")
    assert oracle.lines == ["wipe:a", "mail:b"]


async def test_resume_does_nothing_once_the_invocation_is_over(make_worker, oracle):
    chat = make_worker()
    await chat.say()
    await chat.answer("approve")
    before = (await chat.session()).events
    assert await make_worker().resume() == []
    assert (await chat.session()).events == before


async def test_two_questions_are_answered_in_one_message(oracle, make_chat):
    tools = oracle.tool("wipe", require_confirmation=True), oracle.tool("mail")
    chat = make_chat(agent(ScriptedModel([ask("wipe", "a"), ask("wipe", "b")]), *tools))
    await chat.say()
    events = await chat.answer("reject", "approve")
    assert responses(events) == {"wipe": {"did": "wipe b"}}
    assert oracle.lines == ["wipe:b"]
