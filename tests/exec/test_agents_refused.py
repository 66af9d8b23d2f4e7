"""Agents that are refused: what is no agent, no depth, or has calls that nobody could approve."""

from typing import Any

import pytest
from tests.exec.agents_kit import agent, ask, play

from agent_adapter import ConfigError, Executor, RunContext, ToolUsageError, run_tool_loop, tool
from agent_adapter.exec import LoopAgent, agent_tool

OUTER = (ask("helper", task="t"),)


@pytest.mark.parametrize("max_depth", [0, -1, True, 1.5, "2", None])
def test_a_depth_is_a_number_from_one(max_depth: Any):
    with pytest.raises(ToolUsageError, match="max_depth"):
        agent(play("x"), max_depth=max_depth)


def plain(task: str, ctx: RunContext) -> str:
    return task


@pytest.mark.parametrize("wrong", [None, 5, "agent", play("x")])
def test_what_is_no_agent_is_refused(wrong: Any):
    with pytest.raises(ToolUsageError, match="agent"):
        agent_tool(wrong, name="helper", description="")


def test_a_function_that_is_not_async_is_refused():
    with pytest.raises(ToolUsageError, match="agent"):
        agent_tool(plain, name="helper", description="")


async def test_an_agent_whose_calls_nobody_could_approve_is_refused_before_anything_runs():
    """Before step 0: also two agents deep."""

    @tool(confirm=lambda arguments, ctx: arguments["n"] > 1)
    async def pay(n: int) -> int:
        return n

    deep = agent(play("x"), pay, name="deep")
    model = play(OUTER, "done")
    with pytest.raises(ConfigError, match="pay"):
        await run_tool_loop(model, [agent(play("x"), deep)], "go", executor=Executor())
    assert model.requests == []


async def test_that_is_so_for_an_executor_of_the_agents_own():
    @tool(confirm=True)
    async def pay() -> str:
        return "paid"

    helper = agent(play([ask("pay")], "helped"), pay, executor=Executor())
    model = play(OUTER, "done")
    with pytest.raises(ConfigError, match="pay"):
        await run_tool_loop(model, [helper], "go", executor=Executor())
    assert model.requests == []


async def test_tools_in_a_list_are_looked_at_like_those_of_a_registry():
    @tool(confirm=True)
    async def pay() -> str:
        return "paid"

    made = LoopAgent(model=play("x"), tools=[pay])
    helper = agent_tool(made, name="helper", description="")
    with pytest.raises((ConfigError, ToolUsageError)):
        await run_tool_loop(play(OUTER, "done"), [helper], "go", executor=Executor())
