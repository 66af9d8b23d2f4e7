"""A kill while the agent that was transferred to is at work: it goes on, and the transfer is not made again."""

import pytest
from adk_kit import ScriptedModel, agent, ask, words
from adk_stage import ANSWERS, Stage, to_the_end


def root(stage):
    script = [ask("charge", "b"), ask("pay", "c")], "desk is done"
    desk = agent(ScriptedModel(*script), stage.tool("charge"), stage.tool("pay"), name="desk")
    turns = [ask("charge", "a")], [ask("transfer_to_agent", agent_name="desk")]
    return agent(ScriptedModel(*turns), stage.tool("charge"), sub_agents=[desk])


def worker(folder, at):
    Stage(folder, at, after=("charge:b",)).perform(root)


@pytest.mark.parametrize(
    ("at", "asked"), [("pay:c", ["pay:c"]), ("answer of transfer_to_agent", []), (ANSWERS, [])]
)
async def test_the_work_of_both_agents_is_done_once(
    *, tmp_path, in_child, make_chat, oracle, at, asked
):
    assert in_child(worker, tmp_path, at) == -9
    chat = make_chat(root(Stage(tmp_path)))

    assert await to_the_end(chat, oracle) == asked

    events = (await chat.session()).events
    moved = [c for e in events for c in e.get_function_calls() if c.name == "transfer_to_agent"]
    assert len(moved) == 1
    assert sorted(oracle.lines) == ["charge:a", "charge:b", "pay:c"]
    assert words(events) == ["desk is done"]
