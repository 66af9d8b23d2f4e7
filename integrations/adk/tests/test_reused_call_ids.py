"""A model server that gives every call the same id, or none: each call is one of its own, and an answer finds the right one."""

import pytest
from adk_kit import ScriptedModel, agent, ask, words


@pytest.mark.parametrize(
    ("turns", "effects"),
    [
        ([[ask("pay", "a", call_id="0")], [ask("pay", "b", call_id="0")]], ["pay:a", "pay:b"]),
        ([[ask("pay", "a", call_id="0"), ask("pay", "b", call_id="0")]], ["pay:a", "pay:b"]),
        ([[ask("pay", "a"), ask("pay", "a")]], ["pay:a", "pay:a"]),
        ([[ask("pay", "a", call_id="0")], [ask("pay", "a", call_id="0")]], ["pay:a", "pay:a"]),
    ],
    ids=["two turns", "one turn", "equal and without ids", "equal in two turns"],
)
async def test_calls_that_share_an_id_all_run_once(oracle, make_chat, turns, effects):
    chat = make_chat(agent(ScriptedModel(*turns), oracle.tool("pay")))
    events = await chat.say()
    assert sorted(oracle.lines) == effects
    assert words(events) == ["done"]


async def test_approvals_of_calls_that_share_an_id_reach_the_call_that_was_shown(oracle, make_chat):
    turns = [ask("pay", "a", call_id="0")], "paid", [ask("pay", "b", call_id="0")], "paid too"
    chat = make_chat(agent(ScriptedModel(*turns), oracle.tool("pay", require_confirmation=True)))
    await chat.say("pay a")
    await chat.answer("approve")
    await chat.say("pay b")
    before = oracle.lines

    events = await chat.answer("approve")

    assert (before, oracle.lines) == (["pay:a"], ["pay:a", "pay:b"])
    assert words(events) == ["paid too"]


async def test_of_two_calls_with_one_id_only_the_approved_one_runs(oracle, make_chat):
    turn = [ask("pay", "a", call_id="0"), ask("pay", "b", call_id="0")]
    chat = make_chat(agent(ScriptedModel(turn), oracle.tool("pay", require_confirmation=True)))
    await chat.say()
    await chat.answer("reject", "approve")
    assert oracle.lines == ["pay:b"]
