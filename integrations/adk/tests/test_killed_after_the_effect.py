"""A process that dies between a tool's effect and its record leaves a question, and never a second effect by itself."""

import asyncio
import os
import signal

import pytest
from adk_kills import live
from adk_kit import Oracle, ScriptedModel, agent, ask, responses, words


def root(oracle: Oracle, then=None):
    return agent(ScriptedModel([ask("charge", "a")]), oracle.tool("charge", then))


def dying(oracle: Oracle):
    return root(oracle, lambda _: os.kill(os.getpid(), signal.SIGKILL))


def killed_by_the_effect(folder):
    live(folder, "never", 1, dying, lambda chat: chat.say())


def killed_after_the_record(folder):
    live(folder, "record charge done", 1, root, lambda chat: chat.say())


@pytest.fixture
async def killed(tmp_path, in_child, make_chat, oracle):
    assert await asyncio.to_thread(in_child, killed_by_the_effect, tmp_path) == -9
    return make_chat(root(oracle))


async def test_a_call_in_doubt_is_asked_about_and_not_run(killed, oracle):
    await killed.resume()
    (asked,) = await killed.pending()
    assert (asked.tool, asked.arguments, asked.cause) == ("charge", {"x": "a"}, "died")
    assert asked.payload["owner_known_dead"] is True
    assert asked.payload["decisions"] == ["approve", "respond", "reject"]
    assert oracle.lines == ["charge:a"]


@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        ("approve", ["charge:a", "charge:a"], {"did": "charge a"}),
        ({"type": "respond", "message": {"did": "seen"}}, ["charge:a"], {"did": "seen"}),
        ({"type": "reject", "message": "no"}, ["charge:a"], {"error": "no"}),
    ],
    ids=["run it again", "it happened", "do not run it"],
)
async def test_the_answer_decides_about_a_call_in_doubt(killed, oracle, said, effects, answer):
    await killed.resume()
    events = await killed.answer(said)
    assert responses(events) == {"charge": answer}
    assert words(events) == ["done"]
    assert oracle.lines == effects
    assert await killed.pending() == []


async def test_a_recorded_call_is_answered_from_the_record(tmp_path, oracle, make_chat, in_child):
    assert await asyncio.to_thread(in_child, killed_after_the_record, tmp_path) == -9
    chat = make_chat(root(oracle))
    events = await chat.resume()
    assert responses(events) == {"charge": {"did": "charge a"}}
    assert oracle.lines == ["charge:a"]
