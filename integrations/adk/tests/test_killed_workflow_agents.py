"""A kill under a sequential, parallel or looping agent: every agent does its work once, and the later ones still come."""

import pytest
from adk_kit import ScriptedModel, agent, ask, words
from adk_stage import ANSWERS, Stage, to_the_end
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools import exit_loop


def one(stage, name, *turns, **settings):
    tools = [stage.tool(each) for each in ("charge", "pay")]
    return agent(ScriptedModel(*turns), *tools, exit_loop, name=name, **settings)


def sequence(stage):
    first = one(stage, "first", [ask("charge", "a"), ask("pay", "b")], "first is done")
    second = one(stage, "second", [ask("charge", "c")], "second is done")
    return SequentialAgent(name="root", sub_agents=[first, second])


def parallel(stage):
    first = one(stage, "first", [ask("charge", "a"), ask("pay", "b")], "first is done")
    second = one(stage, "second", [ask("charge", "c")], "second is done")
    return ParallelAgent(name="root", sub_agents=[first, second])


def loop(stage):
    turns = [ask("charge", "a"), ask("pay", "b")], "again", [ask("charge", "c")], [ask("exit_loop")]
    return LoopAgent(name="root", sub_agents=[one(stage, "worker", *turns)], max_iterations=5)


def worker(folder, kind, at, after):
    Stage(folder, at, after).perform(globals()[kind])


IN_TURN = [
    ("pay:b", ("charge:a",), ["pay:b"]),
    (ANSWERS, (), []),
    ("charge:c", (), ["charge:c"]),
]
AT_ONCE = [
    ("pay:b", ("charge:a", "charge:c"), ["pay:b"]),
    ("charge:c", ("charge:a", "pay:b"), ["charge:c"]),
]
BOTH = ["first is done", "second is done"]


@pytest.mark.parametrize(
    ("kind", "said", "point"),
    [("sequence", BOTH, point) for point in IN_TURN]
    + [("parallel", BOTH, point) for point in AT_ONCE]
    + [("loop", ["again"], point) for point in IN_TURN],
)
async def test_every_agent_does_its_work_once(
    *, tmp_path, in_child, make_chat, oracle, kind, said, point
):
    at, after, asked = point
    assert in_child(worker, tmp_path, kind, at, after) == -9
    chat = make_chat(globals()[kind](Stage(tmp_path)))

    found = await to_the_end(chat, oracle)

    assert found == asked
    assert sorted(oracle.lines) == ["charge:a", "charge:c", "pay:b"]
    assert sorted(words((await chat.session()).events)) == said
