"""An approved call that is killed in its body is asked about once more: its approval never counts as "run it again"."""

import asyncio
import os
import signal

import pytest
from adk_kills import live
from adk_kit import ScriptedModel, agent, ask, responses, words

from agent_adapter.policies import ToolPolicy

CONFIRM = {"charge": ToolPolicy(confirm=True)}


def root(oracle, then=None, *, native=False):
    charge = oracle.tool("charge", then, require_confirmation=native)
    return agent(ScriptedModel([ask("charge", "a")]), charge)


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


async def approve(chat):
    await chat.say()
    await chat.answer("approve")


def approved_by_policy_and_killed(folder):
    live(folder, "never", 1, lambda oracle: root(oracle, die), approve, policies=CONFIRM)


def approved_by_adk_and_killed(folder):
    live(folder, "never", 1, lambda oracle: root(oracle, die, native=True), approve)


@pytest.fixture(params=[False, True], ids=["by policy", "by ADK"])
async def killed(*, request, tmp_path, in_child, oracle, make_chat, make_durable):
    """A chat after the kill."""
    child = approved_by_adk_and_killed if request.param else approved_by_policy_and_killed
    assert await asyncio.to_thread(in_child, child, tmp_path) == -9
    durable = make_durable(policies={} if request.param else CONFIRM)
    return make_chat(root(oracle, native=request.param), with_=durable)


async def test_going_on_asks_a_second_question(killed, oracle):
    await killed.resume()
    (asked,) = await killed.pending()
    assert (asked.tool, asked.cause, oracle.lines) == ("charge", "died", ["charge:a"])


async def test_the_first_approval_posted_again_decides_nothing_about_it(killed, oracle):
    (first,) = [
        call.id
        for event in (await killed.session()).events
        for call in event.get_function_calls()
        if call.name == "adk_request_confirmation"
    ]
    await killed.post({first: {"confirmed": True}})
    (asked,) = await killed.pending()
    await killed.post({first: {"confirmed": True}})
    assert [each.id for each in await killed.pending()] == [asked.id]
    assert (asked.cause, oracle.lines) == ("died", ["charge:a"])


@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        ("approve", ["charge:a", "charge:a"], {"did": "charge a"}),
        ({"type": "respond", "message": {"did": "seen"}}, ["charge:a"], {"did": "seen"}),
    ],
    ids=["run it again", "it happened"],
)
async def test_the_answer_to_the_second_question_decides(killed, oracle, said, effects, answer):
    await killed.resume()
    events = await killed.answer(said)
    assert responses(events) == {"charge": answer}
    assert words(events) == ["done"]
    assert oracle.lines == effects


async def test_a_call_that_may_have_happened_cannot_be_edited(killed, oracle):
    await killed.resume()
    (asked,) = await killed.pending()
    with pytest.raises(RuntimeError, match="nothing was decided"):
        await killed.post({asked.id: {"confirmed": True, "payload": {"args": {"x": "b"}}}})
    assert oracle.lines == ["charge:a"]
