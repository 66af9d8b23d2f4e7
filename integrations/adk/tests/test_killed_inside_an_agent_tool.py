"""A kill inside an agent that is used as a tool: it is entered again and goes on, also with a model that plans anew."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage, to_the_end
from google.adk.tools.agent_tool import AgentTool


def root(stage, *, levels=1, mark=""):
    turns = [ask("charge", f"a{mark}"), ask("pay", f"b{mark}")], [ask("charge", f"c{mark}")]
    tools = stage.tool("charge"), stage.tool("pay")
    made = agent(ScriptedModel(*turns, "all done"), *tools, name="helper0")
    for level in range(1, levels):
        turns = [ask(made.name, request="help")], "all done"
        made = agent(ScriptedModel(*turns), AgentTool(made), name=f"helper{level}")
    return agent(ScriptedModel([ask(made.name, request="help")]), AgentTool(made))


def worker(folder, at, levels):
    Stage(folder, at, after=("charge:a",)).perform(lambda stage: root(stage, levels=levels))


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("mark", ["", " planned anew"])
@pytest.mark.parametrize(
    ("at", "asked"), [("pay:b", ["pay:b"]), ("charge:c", ["charge:c"]), ("answers", [])]
)
async def test_what_is_inside_is_done_once(
    *, tmp_path, in_child, make_chat, oracle, levels, mark, at, asked
):
    assert in_child(worker, tmp_path, at, levels) == -9
    chat = make_chat(root(Stage(tmp_path), levels=levels, mark=mark))

    found = await to_the_end(chat, oracle)

    assert found == asked
    # A turn that no worker planned before the kill is planned by the later one.
    planned = "charge:c" if at != "pay:b" else f"charge:c{mark}"
    assert sorted(oracle.lines) == ["charge:a", planned, "pay:b"]
    events = (await chat.session()).events
    assert responses(events) == {f"helper{levels - 1}": {"result": "all done"}}
