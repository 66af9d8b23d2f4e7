"""Wherever agents stand, answers that come one at a time wait for each other, and nothing is lost or done twice."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.workflow import JoinNode, Workflow

from agent_adapter.policies import ToolPolicy

YES, NO = {"confirmed": True}, {"confirmed": False}
# One agent with two questions beside a call that needs none; another one with a third question, or with none.
TWO = [ask("wipe", "a"), ask("wipe", "b"), ask("mail", "c")]
ONE = [ask("wipe", "d")]


def agents(tools, *turns, **settings):
    return [
        agent(ScriptedModel(turn), *tools, name=f"agent_{n}", **settings)
        for n, turn in enumerate(turns)
    ]


def sequential(tools):
    return SequentialAgent(name="root", sub_agents=agents(tools, TWO, [ask("mail", "e")]))


def parallel(tools):
    return ParallelAgent(name="root", sub_agents=agents(tools, TWO, ONE))


def agent_nodes(tools):
    first, second = agents(tools, TWO, [ask("mail", "e")])
    return Workflow(name="root", edges=[("START", first, second)])


def parallel_nodes(tools):
    first, second = agents(tools, TWO, ONE)
    return Workflow(name="root", edges=[("START", (first, second), JoinNode(name="both"))])


def single_turn(tools):
    inside = agents(tools, TWO, [ask("mail", "e")], mode="single_turn")
    turns = [ask("agent_0", request="go")], [ask("agent_1", request="go")]
    return agent(ScriptedModel(*turns), sub_agents=inside)


def parallel_single_turns(tools):
    inside = agents(tools, TWO, ONE, mode="single_turn")
    turn = [ask("agent_0", request="go"), ask("agent_1", request="go")]
    return agent(ScriptedModel(turn), sub_agents=inside)


def transferred(tools):
    return agent(
        ScriptedModel([ask("transfer_to_agent", agent_name="agent_0")]),
        sub_agents=agents(tools, TWO),
    )


def looped(tools):
    return LoopAgent(name="root", sub_agents=agents(tools, TWO, "once"), max_iterations=1)


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
