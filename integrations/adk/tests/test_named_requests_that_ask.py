"""A named request of an app that is not resumable is asked about and answered as one of an app that is."""

import pytest
from adk_kit import ListedModel, ScriptedModel, agent, ask, responses, words
from google.adk.agents.run_config import RunConfig
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from agent_adapter.errors import ApprovalConflict

NAMED = RunConfig(custom_metadata={"agent_adapter_run": "order-42"})
YES, NO = {"confirmed": True}, {"confirmed": False}


@pytest.fixture
async def wiping(oracle, make_chat):
    """A chat in which three calls of a named request wait, and the ids of their questions."""
    turn = [ask("wipe", path) for path in "abc"]
    root = agent(ScriptedModel(turn), oracle.tool("wipe", require_confirmation=True))
    chat = make_chat(root, resumable=False)
    await chat.say(run_config=NAMED)
    return chat, [each.id for each in await chat.pending()]


async def test_answers_one_at_a_time_are_held_until_all_are_there(wiping, oracle):
    chat, (first, second, third) = wiping
    await chat.post({first: YES})
    await chat.post({second: NO})
    held = oracle.lines
    events = await chat.post({third: YES})
    assert (held, sorted(oracle.lines)) == ([], ["wipe:a", "wipe:c"])
    assert words(events) == ["done"]


async def test_the_same_answer_twice_runs_nothing_twice(wiping, oracle):
    chat, asked = wiping
    yes = dict.fromkeys(asked, YES)
    await chat.post(yes)
    await chat.post(yes)
    assert sorted(oracle.lines) == ["wipe:a", "wipe:b", "wipe:c"]


async def test_a_different_second_answer_is_refused(wiping, oracle):
    chat, asked = wiping
    await chat.post(dict.fromkeys(asked, NO))
    with pytest.raises(RuntimeError) as refused:
        await chat.post(dict.fromkeys(asked, YES))
    assert type(refused.value.__cause__) is ApprovalConflict
    assert oracle.lines == []


async def test_a_request_that_is_delivered_again_while_it_waits_asks_again_and_runs_once(
    wiping, oracle, make_chat
):
    await wiping[0].say(run_config=NAMED)
    chat = make_chat(
        agent(ListedModel(), oracle.tool("wipe", require_confirmation=True)), resumable=False
    )
    asked = [each for each in await chat.pending() if each.id not in wiping[1]]

    events = await chat.post({each.id: YES for each in asked})

    assert [each.arguments["x"] for each in asked] == ["a", "b", "c"]
    assert sorted(oracle.lines) == ["wipe:a", "wipe:b", "wipe:c"]
    assert responses(events) == {"wipe": {"did": "wipe c"}}


async def test_long_running_calls_are_started_once_however_their_answers_come(oracle, make_chat):
    ids = ["1", "2", "3"]
    model = ScriptedModel([ask("render", name, call_id=f"shot-{name}") for name in ids], "waiting")
    render = oracle.function("render", lambda x: {"status": "pending", "ticket": x})
    chat = make_chat(agent(model, LongRunningFunctionTool(render)), resumable=False)
    await chat.say(run_config=NAMED)
    for name in ids:
        await chat.post({f"shot-{name}": {"status": "done"}})
    assert sorted(oracle.lines) == ["render:1", "render:2", "render:3"]
