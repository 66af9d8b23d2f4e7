"""A kill beside a long-running call: its siblings run to their end, and it keeps waiting for its client alone."""

import pytest
from adk_kit import ScriptedModel, agent, ask, shown
from adk_stage import Stage, to_the_end
from google.adk.tools.long_running_tool import LongRunningFunctionTool

TURN = [ask("render", "a", call_id="shot"), ask("pay", "b", call_id="2")]


def root(stage):
    async def render(x: str) -> None:
        """render"""
        stage.oracle.write(f"render:{x}")
        await stage.point(f"render:{x}")

    return agent(ScriptedModel(TURN), LongRunningFunctionTool(render), stage.tool("pay"))


def worker(folder, at, after):
    Stage(folder, at, after).perform(root)


@pytest.mark.parametrize(
    ("at", "after", "asked"),
    [
        ("pay:b", ("render:a",), ["pay:b"]),
        ("answer of pay", (), []),
        ("render:a", ("pay:b",), ["render:a"]),
    ],
)
async def test_each_runs_once_and_the_client_may_answer(
    *, tmp_path, in_child, make_chat, oracle, at, after, asked
):
    assert in_child(worker, tmp_path, at, after) == -9
    made = root(Stage(tmp_path))
    chat = make_chat(made)

    assert await to_the_end(chat, oracle) == asked
    await chat.post({"shot": {"done": "a"}})

    assert sorted(oracle.lines) == ["pay:b", "render:a"]
    assert shown(made.model) == {
        "calls": ["render", "pay"],
        "responses": {"render": {"done": "a"}, "pay": {"did": "pay b"}},
    }
