"""A loop inside a tool whose first messages hold what cannot be stored: its replies are on record all the same."""

from typing import Any

import pytest
from tests.exec.agents_kit import Bench, Killed, ask, play, said

from agent_adapter import Tool, run_tool_loop
from agent_adapter.exec import agent_tool
from agent_adapter.models import Message


class Handle:
    """Nothing that can be stored."""


def helper(bench: Bench, model: Any) -> Tool:
    async def function(task: str, ctx: Any) -> str:
        first = Message("user", task, extra={"handle": Handle()})
        inner = await run_tool_loop(model, [bench.note, bench.charge], [first], ctx=ctx)
        return inner.reply.text

    return agent_tool(function, name="helper", description="")


async def test_its_model_is_not_asked_again_for_a_turn_that_it_has_planned(store):
    """Items 88, 90: a model that would plan something else by then does not get to."""
    bench = Bench(store)

    def plan(_: Any) -> Any:
        return [ask("note", text=f"plan {len(inner.requests)}")]

    inner = play(plan, [ask("charge", cents=1)], "helped")
    model, tools = play([ask("helper", task="t")], "done"), [helper(bench, inner)]
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools, rerun_in_doubt=True)
    assert bench.ran == [("note", "plan 1"), ("charge", 1), ("charge", 1)]
    assert said(result)[2:] == [("tool", "helped"), ("assistant", "done")]
    assert len(inner.requests) == 3
