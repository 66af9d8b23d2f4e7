"""How deep agents call agents: `agent_depth()`, `max_depth`, and the run's own limit."""

import asyncio
from typing import Any

import pytest
from tests.exec.agents_kit import agent, ask, play

from agent_adapter import (
    Executor,
    Registry,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolCall,
    ToolFailed,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import AgentDepthExceeded, LoopAgent, agent_depth, agent_tool


def nested(depth: int, *tools: Any, **given: Any) -> Any:
    """An agent that calls an agent, and so on; the innermost calls each of the tools once."""
    made = agent(play([ask(each.name) for each in tools] or "x", "done"), *tools, name=f"a{depth}")
    for level in range(depth - 1, 0, -1):
        model = play([ask(f"a{level + 1}", task="t")], "done")
        made = agent(model, made, name=f"a{level}", **given)
    return made


async def test_the_depth_is_the_number_of_agents_around():
    """Item 29: 0 outside, 1 in a tool of an agent, 2 nested; in sync tools too."""
    seen: list[tuple[str, int]] = []

    @tool
    async def here() -> None:
        seen.append(("here", agent_depth()))

    @tool
    def thread() -> None:
        seen.append(("thread", agent_depth()))

    executor = Executor(Registry([here, thread, nested(1, here, thread)]))
    await executor.run("here")
    await executor.run("a1", {"task": "t"})
    assert seen[0] == ("here", 0)
    assert sorted(seen[1:]) == [("here", 1), ("thread", 1)]
    seen.clear()
    await Executor(Registry([nested(3, here, thread)])).run("a1", {"task": "t"})
    assert sorted(seen) == [("here", 3), ("thread", 3)]
    assert agent_depth() == 0


async def test_the_depth_is_restored_after_an_error():
    """Item 29."""

    async def broken(task: str, ctx: RunContext) -> str:
        raise ValueError(agent_depth())

    executor = Executor(Registry([agent_tool(broken, name="broken", description="")]))
    with pytest.raises(ToolFailed, match="1"):
        await executor.run("broken", {"task": "t"})
    assert agent_depth() == 0


async def test_the_depth_is_restored_where_the_function_itself_is_awaited():
    """Item 29: no task of its own keeps the two apart."""

    async def broken(task: str, ctx: RunContext) -> str:
        raise ValueError(agent_depth())

    with pytest.raises(ValueError, match="1"):
        await agent_tool(broken, name="broken", description="").fn("t", RunContext())
    assert agent_depth() == 0


async def test_siblings_at_the_same_time_have_their_own_depths():
    """Item 29: all of them are inside at once."""
    seen: dict[str, int] = {}
    together = asyncio.Barrier(3)

    @tool
    async def here(name: str) -> None:
        await together.wait()
        seen[name] = agent_depth()

    inner = agent(play([ask("here", name="two")], "done"), here, name="inner")
    outer = agent(play([ask("inner", task="t")], "done"), inner, name="outer")
    single = agent(play([ask("here", name="one")], "done"), here, name="single")
    calls = [ask("outer", task="t"), ask("here", name="none"), ask("single", task="t")]
    await run_tool_loop(play(calls, "done"), [outer, here, single], "go", executor=Executor())
    assert seen == {"none": 0, "one": 1, "two": 2}


async def test_max_depth_one_works_from_the_top_and_not_inside_an_agent():
    """Item 30: it did not begin, and the error is a limit of the run."""
    model = play("never")
    flat = agent(model, name="flat", max_depth=1)
    assert await Executor(Registry([flat])).run("flat", {"task": "t"}) == "never"
    outer = agent(play([ask("flat", task="t")], "done"), flat, name="outer")
    with pytest.raises(AgentDepthExceeded, match="flat") as refused:
        await Executor(Registry([outer])).run("outer", {"task": "t"})
    assert isinstance(refused.value, RunLimitExceeded)
    assert len(model.requests) == 1


async def test_agents_that_call_each_other_for_ever_stop_at_the_default_depth():
    """Item 30: a, b, a, b, and no fifth one."""
    tools = {"a": Registry(), "b": Registry()}
    begun: list[str] = []

    def model(name: str, other: str) -> Any:
        def reply(_: Any) -> list[ToolCall]:
            begun.append(name)
            return [ask(other, task="t")]

        return play(reply)

    for name, other in (("a", "b"), ("b", "a")):
        made = LoopAgent(model=model(name, other), tools=tools[name])
        tools[other].add(agent_tool(made, name=name, description=""))
    first = tools["b"].get("a")
    assert first is not None
    with pytest.raises(AgentDepthExceeded):
        await run_tool_loop(play([ask("a", task="t")], "done"), [first], "go", executor=Executor())
    assert begun == ["a", "b", "a", "b"]


async def test_a_run_may_allow_less_depth_than_its_agents():
    """max_agent_depth, of the context."""
    executor = Executor(Registry([nested(2)]))
    with pytest.raises(AgentDepthExceeded):
        await executor.run("a1", {"task": "t"}, RunContext(limits=RunLimits(max_agent_depth=1)))
    none = RunContext(limits=RunLimits(max_agent_depth=0))
    with pytest.raises(AgentDepthExceeded):
        await executor.run("a1", {"task": "t"}, none)
    deep = RunContext(limits=RunLimits(max_agent_depth=2))
    assert await executor.run("a1", {"task": "t"}, deep) == "done"


async def test_a_run_cannot_allow_more_depth_than_its_agents():
    flat = agent(play("x"), name="flat", max_depth=1)
    executor = Executor(Registry([agent(play([ask("flat", task="t")], "x"), flat, name="out")]))
    with pytest.raises(AgentDepthExceeded):
        await executor.run("out", {"task": "t"}, RunContext(limits=RunLimits(max_agent_depth=9)))


async def test_an_executor_may_allow_less_depth_than_its_agents():
    """max_agent_depth, of the executor."""
    executor = Executor(Registry([nested(2)]), limits=RunLimits(max_agent_depth=1))
    with pytest.raises(AgentDepthExceeded):
        await executor.run("a1", {"task": "t"})
