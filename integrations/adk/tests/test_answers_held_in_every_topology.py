"""Wherever agents stand, answers that come one at a time wait for each other, and nothing is lost or done twice."""

import pytest
from adk_shapes import (
    agent_nodes,
    looped,
    parallel,
    parallel_nodes,
    parallel_single_turns,
    sequential,
    single_turn,
    transferred,
)

from agent_adapter.policies import ToolPolicy

YES, NO = {"confirmed": True}, {"confirmed": False}

THEN = ["mail:c", "mail:e", "wipe:a"]
BOTH = ["mail:c", "wipe:a", "wipe:d"]
ALONE = ["mail:c", "wipe:a"]
EFFECTS = {
    sequential: THEN,
    parallel: BOTH,
    agent_nodes: THEN,
    parallel_nodes: BOTH,
    single_turn: THEN,
    parallel_single_turns: BOTH,
    transferred: ALONE,
    looped: ALONE,
}


@pytest.fixture(params=[True, False], ids=["by ADK", "by policy"])
def make_worker(request, oracle, make_chat, make_durable):
    """Make a worker for a root whose agents may wipe once it is approved."""
    tools = oracle.tool("wipe", require_confirmation=request.param), oracle.tool("mail")
    policies = {"wipe": ToolPolicy(confirm=not request.param)}
    return lambda root: make_chat(root(tools), with_=make_durable(policies=policies))


@pytest.mark.parametrize("root", EFFECTS)
@pytest.mark.parametrize("order", ["as asked", "last first"])
async def test_answers_one_at_a_time_wait_for_each_other(oracle, make_worker, root, order):
    await make_worker(root).say()
    chat = make_worker(root)
    held = []

    # The pause of one single-turn agent may come before another one has asked: then that one asks in the next round.
    while asked := await chat.pending():
        before = oracle.lines
        for each in asked if order == "as asked" else reversed(asked):
            held.append(oracle.lines == before)
            await chat.post({each.id: NO if each.arguments["x"] == "b" else YES})

    assert held == [True] * (3 if "wipe:d" in EFFECTS[root] else 2)
    assert sorted(oracle.lines) == EFFECTS[root]


@pytest.mark.parametrize("root", EFFECTS)
async def test_answers_in_one_message_are_all_carried_out(oracle, make_worker, root):
    chat = make_worker(root)
    await chat.say()

    while asked := await chat.pending():
        await chat.post({each.id: YES for each in asked})

    assert sorted(oracle.lines) == sorted([*EFFECTS[root], "wipe:b"])
