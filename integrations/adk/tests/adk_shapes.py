"""Every way in which agents stand to each other, around the same three calls that wait for an answer."""

from adk_kit import ScriptedModel, agent, ask
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.workflow import JoinNode, Workflow

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
