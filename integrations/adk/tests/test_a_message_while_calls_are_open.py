"""The user writes again after a kill, without going on: the model is told the truth about the calls that were left open."""

import asyncio

import pytest
from adk_kills import live
from adk_kit import ScriptedModel, agent, ask, shown

from agent_adapter_adk import DurableTools  # noqa: F401 - loaded once for the children


def root(oracle):
    return agent(ScriptedModel([ask("charge", "a"), ask("mail", "b")]), *tools(oracle))


def tools(oracle):
    return oracle.tool("charge"), oracle.tool("mail")


def killed_before_any_call(folder):
    live(folder, "event root charge mail", 1, root, lambda chat: chat.say())


def killed_after_one_result(folder):
    live(folder, "record charge done", 1, root, lambda chat: chat.say())


NEVER = "This call was never started: the run stopped before it. Call the tool again if it is still wanted."


@pytest.fixture
def again(make_chat, oracle):
    model = ScriptedModel()
    return model, make_chat(agent(model, *tools(oracle)))


async def test_repair_says_that_a_call_never_began(tmp_path, in_child, again, oracle):
    assert await asyncio.to_thread(in_child, killed_before_any_call, tmp_path) == -9
    model, chat = again

    await chat.durable.repair(chat.runner, await chat.session())
    await chat.say("hello?")

    assert oracle.lines == []
    assert shown(model) == {
        "calls": ["charge", "mail"],
        "responses": {"charge": {"error": NEVER}, "mail": {"error": NEVER}},
    }


async def test_repair_shows_the_recorded_result(tmp_path, in_child, again):
    assert await asyncio.to_thread(in_child, killed_after_one_result, tmp_path) == -9
    model, chat = again

    await chat.durable.repair(chat.runner, await chat.session())
    await chat.say("hello?")

    assert shown(model)["responses"]["charge"] == {"did": "charge a"}


async def test_without_repair_the_history_that_the_model_sees_is_valid(tmp_path, in_child, again):
    assert await asyncio.to_thread(in_child, killed_before_any_call, tmp_path) == -9
    model, chat = again
    await chat.say("hello?")
    assert shown(model) == {"calls": [], "responses": {}}
