"""Agents that fail: the calling run is told, goes on, and nothing of the agent is left behind."""

import asyncio

import pytest
from pydantic import BaseModel
from tests.exec.agents_kit import agent, ask, play, said

from agent_adapter import (
    Executor,
    Registry,
    RunContext,
    ToolFailed,
    ToolTimeout,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import Backoff, agent_tool

OUTER = (ask("helper", task="t"),)


class Answer(BaseModel):
    n: int


async def test_an_agent_that_gives_up_is_a_failed_call_and_the_run_goes_on():
    model = play([ask("nop", "1")], [ask("nop", "2")], "too late")

    @tool
    async def nop() -> str:
        return "ok"

    outer = play(OUTER, "did without")
    result = await run_tool_loop(outer, [agent(model, nop, max_steps=2)], "go", executor=Executor())
    (call,) = result.tool_results
    assert (result.reply.text, call.status, len(model.requests)) == ("did without", "error", 2)
    assert "max_steps of 2" in said(result)[2][1]


async def test_a_function_whose_own_loop_gives_up_is_a_failed_call_too():
    async def function(task: str, ctx: RunContext) -> str:
        result = await run_tool_loop(play([ask("nop")], "late"), [], task, max_steps=1, ctx=ctx)
        return result.reply.text

    tools = [agent_tool(function, name="helper", description="")]
    result = await run_tool_loop(play(OUTER, "did without"), tools, "go", executor=Executor())
    assert (result.reply.text, result.tool_results[0].status) == ("did without", "error")


async def test_of_nested_agents_only_the_one_that_gave_up_failed():
    async def function(task: str, ctx: RunContext) -> str:
        result = await run_tool_loop(play([ask("nop")], "late"), [], task, max_steps=1, ctx=ctx)
        return result.reply.text

    inner = agent_tool(function, name="inner", description="")
    helper = agent(play([ask("inner", task="i")], "helped all the same"), inner)
    result = await run_tool_loop(play(OUTER, "done"), [helper], "go", executor=Executor())
    assert said(result)[2] == ("tool", "helped all the same")


async def test_a_model_that_fails_inside_is_a_failed_call():
    model = play(RuntimeError("overloaded"))
    result = await run_tool_loop(
        play(OUTER, "did without"), [agent(model)], "go", executor=Executor()
    )
    assert (result.reply.text, result.tool_results[0].status) == ("did without", "error")
    assert "overloaded" in said(result)[2][1]


async def test_an_answer_that_does_not_fit_the_schema_is_a_failed_call():
    executor = Executor(Registry([agent(play("three"), output_schema=Answer)]))
    with pytest.raises(ToolFailed, match="output_schema"):
        await executor.run("helper", {"task": "t"})


async def test_an_agent_out_of_time_is_stopped_with_all_that_it_does():
    """Its calls and its model have ended when the caller is told."""
    ended: list[str] = []

    @tool
    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    helper = agent(play([ask("hang", "1"), ask("hang", "2")], "late"), hang, timeout=0.05)
    with pytest.raises(ToolTimeout):
        await Executor(Registry([helper])).run("helper", {"task": "t"})
    assert ended == ["hang", "hang"]


async def test_the_executors_own_timeout_is_for_each_call_and_not_for_the_agent_around_them():
    """Each call takes longer than a third of it."""

    @tool
    async def slow() -> str:
        await asyncio.sleep(0.2)
        return "ok"

    helper = agent(play([ask("slow")], [ask("slow")], [ask("slow")], "helped"), slow)
    executor = Executor(Registry([helper]), timeout=0.5)
    assert await executor.run("helper", {"task": "t"}) == "helped"


async def test_a_cancelled_run_ends_only_when_its_agents_calls_have_ended():
    """They are cancelled and awaited, however deep."""
    begun, ended = asyncio.Event(), []

    @tool
    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("hang")

    deep = agent(play([ask("hang")], "late"), hang, name="deep")
    helper = agent(play([ask("deep", task="d")], "late"), deep)
    model = play(OUTER, "late")
    running = asyncio.create_task(run_tool_loop(model, [helper], "go", executor=Executor()))
    await begun.wait()
    running.cancel()
    await asyncio.wait([running])
    assert (running.cancelled(), ended, len(model.requests)) == (True, ["hang"], 1)


async def test_a_failed_agent_is_not_tried_again_although_its_executor_retries():
    """Item 153: its calls may have had effects; they are tried again one by one, where they may be."""
    tried: list[int] = []

    @tool(idempotent=True)
    async def flaky() -> str:
        tried.append(1)
        if len(tried) == 1:
            raise ConnectionError
        return "ok"

    model = play([ask("flaky")], RuntimeError("overloaded"))
    executor = Executor(retry=3, backoff=Backoff(initial=0, maximum=0))
    result = await run_tool_loop(
        play(OUTER, "done"), [agent(model, flaky)], "go", executor=executor
    )
    assert (len(tried), len(model.requests), result.tool_results[0].attempts) == (2, 2, 1)
