"""A kill between the end of a sub-agent and its result for the caller: the agent is not started anew."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from adk_stage import Stage, to_the_end
from google.adk.agents import SequentialAgent

# ADK itself takes up the call, and then asks the model once more instead of ending the task.
UNFINISHED = pytest.mark.xfail(
    reason="ADK: a replayed finish_task does not end the task", strict=True
)


def root(stage, mode):
    turns = [[ask("charge", "a")], "all done"]
    if mode == "task":
        turns[1] = [ask("finish_task", result="all done")]
    clerk = agent(ScriptedModel(*turns), stage.tool("charge"), name="clerk", mode=mode)
    return agent(ScriptedModel([ask("clerk", request="help")]), sub_agents=[clerk])


def worker(folder, mode, at):
    Stage(folder, at).perform(lambda stage: root(stage, mode))


@pytest.mark.parametrize(
    ("mode", "at"),
    [
        ("single_turn", "all done"),
        ("single_turn", "end of clerk"),
        ("single_turn", "answer of clerk"),
        pytest.param("task", "answer of finish_task", marks=UNFINISHED),
        ("task", "answer of clerk"),
    ],
)
async def test_its_work_is_done_once(*, tmp_path, in_child, make_chat, oracle, mode, at):
    assert in_child(worker, tmp_path, mode, at) == -9
    chat = make_chat(root(Stage(tmp_path), mode))

    assert await to_the_end(chat, oracle) == []

    assert oracle.lines == ["charge:a"]
    assert "clerk" in responses((await chat.session()).events)


def sequence(stage, model):
    first = agent(model, stage.tool("charge"), name="first")
    second = agent(ScriptedModel([ask("charge", "b")], "second"), stage.tool("charge"), name="last")
    return SequentialAgent(name="root", sub_agents=[first, second])


def worker_of_a_sequence(folder, at):
    model = ScriptedModel([ask("charge", "a")], "first")
    Stage(folder, at).perform(lambda stage: sequence(stage, model))


@pytest.mark.parametrize("at", ["end of first", "second", "end of last"])
async def test_an_agent_of_a_sequence_is_not_asked_again(
    *, tmp_path, in_child, make_chat, oracle, at
):
    assert in_child(worker_of_a_sequence, tmp_path, at) == -9
    model = ScriptedModel([ask("charge", "c")])
    chat = make_chat(sequence(Stage(tmp_path), model))

    assert await to_the_end(chat, oracle) == []

    assert len(model.seen) == 0
    assert oracle.lines == ["charge:a", "charge:b"]
    assert {*words((await chat.session()).events)} == {"first", "second"}
