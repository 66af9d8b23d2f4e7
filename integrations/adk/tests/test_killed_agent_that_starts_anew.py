"""Agents that ADK starts again with an empty prompt: what they did is shown to them, so a finished turn is not planned anew."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import ANSWERS, Stage, to_the_end
from google.adk.workflow import Workflow


def clerk(stage, mark, **settings):
    """An agent whose model plans with other arguments each time it plans."""
    turns = [ask("charge", f"a{mark}"), ask("pay", f"b{mark}")], [ask("charge", f"c{mark}")]
    tools = stage.tool("charge"), stage.tool("pay")
    return agent(ScriptedModel(*turns, "all done"), *tools, name="clerk", **settings)


def single_turn(stage, mark=""):
    model = ScriptedModel([ask("clerk", request="help")])
    return agent(model, sub_agents=[clerk(stage, mark, mode="single_turn")])


def node(stage, mark=""):
    return Workflow(name="root", edges=[("START", clerk(stage, mark))])


def task(stage, mark=""):
    turns = [ask("charge", f"a{mark}"), ask("pay", f"b{mark}")], [ask("charge", f"c{mark}")]
    tools = stage.tool("charge"), stage.tool("pay")
    model = ScriptedModel(*turns, [ask("finish_task", result="all done")])
    made = agent(model, *tools, name="clerk", mode="task")
    return agent(ScriptedModel([ask("clerk", request="help")]), sub_agents=[made])


def worker(folder, kind, at):
    Stage(folder, at, after=("charge:a",)).perform(globals()[kind])


POINTS = [("pay:b", ["pay:b"]), ("charge:c", ["charge:c"]), (ANSWERS, []), ("all done", [])]


@pytest.mark.parametrize("kind", ["single_turn", "node", "task"])
@pytest.mark.parametrize("mark", ["", " planned anew"])
@pytest.mark.parametrize(("at", "asked"), POINTS)
async def test_its_work_is_done_once(
    *, tmp_path, in_child, make_chat, oracle, kind, mark, at, asked
):
    if kind == "task" and at == "all done":
        at = "answer of finish_task"
    assert in_child(worker, tmp_path, kind, at) == -9
    chat = make_chat(globals()[kind](Stage(tmp_path), mark))

    found = await to_the_end(chat, oracle)

    assert found == asked
    planned = "charge:c" if at not in ("pay:b", ANSWERS) else f"charge:c{mark}"
    assert sorted(oracle.lines) == ["charge:a", planned, "pay:b"]
    given = responses((await chat.session()).events)
    if kind == "single_turn":
        assert given.pop("clerk") == {"result": "all done"}
    else:
        given = {name: given[name] for name in ("charge", "pay")}
    assert given == {"charge": {"did": planned.replace(":", " ")}, "pay": {"did": "pay b"}}
