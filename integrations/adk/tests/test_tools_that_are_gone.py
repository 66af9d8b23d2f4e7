"""Calls of a tool that a deploy took away: answered from the record; the run stops while their outcome is unknown."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from adk_stage import Stage, Stopping, stop

from agent_adapter.errors import ConfigError
from agent_adapter_adk import Stopped

CALLS = [ask("pay", "a")]


def root(stage, *names):
    return agent(ScriptedModel(CALLS), *(stage.tool(name) for name in names))


def killed(folder):
    Stage(folder, "pay:a").perform(lambda stage: root(stage, "pay", "mail"))


async def test_a_finished_call_is_answered_from_the_record(tmp_path, make_chat, oracle):
    stage = Stage(tmp_path)
    await stop(make_chat(root(stage, "pay", "mail"), plugins=(Stopping(),)))

    events = await make_chat(root(stage, "mail")).resume()

    assert responses(events) == {"pay": {"did": "pay a"}}
    assert words(events) == ["done"]
    assert oracle.lines == ["pay:a"]


async def test_a_call_in_doubt_stops_the_run_and_says_why(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path), "mail"))
    before = len((await chat.session()).events)

    with pytest.raises(Stopped, match=r"there is no tool 'pay' any more") as stopped:
        await chat.resume()

    assert isinstance(stopped.value.__cause__, ConfigError)
    assert len((await chat.session()).events) == before
    assert oracle.lines == ["pay:a"]


async def test_it_is_asked_about_once_the_tool_is_back(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    with pytest.raises(Stopped):
        await make_chat(root(Stage(tmp_path), "mail")).resume()

    chat = make_chat(root(Stage(tmp_path), "pay"))
    await chat.resume()

    assert [(each.tool, each.cause) for each in await chat.pending()] == [("pay", "died")]
    assert oracle.lines == ["pay:a"]


async def test_a_name_that_no_tool_ever_had_is_told_to_the_model(tmp_path, make_chat, oracle):
    chat = make_chat(root(Stage(tmp_path), "mail"))

    events = await chat.say()

    assert "pay" in responses(events)["pay"]["error"]
    assert words(events) == ["done"]
    assert oracle.lines == []


async def test_the_call_may_be_answered_by_hand(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path), "mail"))
    with pytest.raises(Stopped):
        await chat.resume()
    call = (await chat.session()).events[-1].get_function_calls()[0]

    events = await chat.post({call.id: {"did": "seen"}})

    assert words(events) == ["done"]
    assert responses((await chat.session()).events) == {"pay": {"did": "seen"}}
    assert (oracle.lines, await chat.pending()) == (["pay:a"], [])
