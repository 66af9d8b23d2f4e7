"""Agents that are async functions, in durable runs: the calls that they make through an executor are protected one by one."""

from typing import Any

import pytest
from tests.exec.agents_kit import NO, Bench, Killed, ask, play, said, shown

from agent_adapter import (
    Executor,
    RecoveryNeedsDecision,
    Registry,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    Tool,
    ToolFailed,
    run_tool_loop,
)
from agent_adapter.exec import Happened, agent_tool
from agent_adapter.exec.checkpoints import DurableStore

OUTER = (ask("helper", task="t"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


def calling(bench: Bench, *calls: tuple[str, Any], also_catch: bool = False) -> Tool:
    """An agent that makes these calls one after the other, and answers with what they gave."""

    async def function(task: str, ctx: RunContext) -> str:
        executor = Executor(
            Registry([bench.charge, bench.note, bench.mail]), approvals=bench.executor.approvals
        )
        told = []
        for name, arguments in calls:
            try:
                told.append(await executor.run(name, arguments, ctx))
            except ToolFailed as exc:
                if not also_catch:
                    raise
                told.append(type(exc).__name__)
        return ", ".join(told)

    return agent_tool(function, name="helper", description="")


def looping(bench: Bench, model: Any, *tools: Tool) -> Tool:
    """An agent that runs a loop of its own."""

    async def function(task: str, ctx: RunContext) -> str:
        result = await run_tool_loop(model, tools, task, executor=bench.executor, ctx=ctx)
        return result.reply.text

    return agent_tool(function, name="helper", description="")


async def test_calls_that_finished_replay(bench: Bench):
    """Item 88."""
    tools = [calling(bench, ("charge", {"cents": 1}), ("note", {"text": "x"}))]
    model = play(OUTER, "done")
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert said(result)[2] == ("tool", "charged 1, noted x")
    assert bench.ran == [("charge", 1), ("note", "x"), ("note", "x")]


async def test_a_loop_inside_plans_no_turn_twice(bench: Bench):
    """Item 89: its replies are recorded like an agent's."""
    inner = play([ask("charge", cents=1)], [ask("note", text="x")], "helped")
    model, tools = play(OUTER, "done"), [looping(bench, inner, bench.charge, bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert said(result)[2] == ("tool", "helped")
    assert (len(inner.requests), bench.ran.count(("charge", 1))) == (3, 1)


async def test_a_call_in_doubt_is_asked_about_and_its_answer_counts(bench: Bench):
    """Item 86: with its place in the run, although nobody can look into a function."""
    tools, model = [calling(bench, ("charge", {"cents": 5}))], play(OUTER, "done")
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    before = await bench.step()
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await bench.recover(model, tools)
    (call,) = doubt.value.calls
    assert (doubt.value.run_id, call.tool, call.arguments) == ("run-1", "charge", {"cents": 5})
    assert call.key.startswith("helper:")
    assert (await bench.step(), bench.worker.writes) == (before, 0)
    bench.dies_in = set()
    decisions = {call.question_id: Happened("by hand")}
    result = await bench.recover(model, tools, decisions=decisions)
    assert said(result)[2] == ("tool", "by hand")
    assert bench.ran == [("charge", 5)]


async def test_rerun_in_doubt_covers_calls_in_a_function(bench: Bench):
    """Item 87."""
    tools, model = [calling(bench, ("charge", {"cents": 5}))], play(OUTER, "done")
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools, rerun_in_doubt=True)
    assert (result.status, bench.ran) == ("done", [("charge", 5)] * 2)


async def test_an_idempotent_call_in_a_function_runs_again_unasked(bench: Bench):
    """Item 87."""
    tools, model = [calling(bench, ("note", {"text": "x"}))], play(OUTER, "done")
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    assert (await bench.recover(model, tools)).status == "done"
    assert bench.ran == [("note", "x")] * 2


async def test_a_call_that_waits_for_a_person_parks_the_run(bench: Bench):
    """Item 113: what came before it replays."""
    calls = [("charge", {"cents": 1}), ("mail", {"to": "x"})]
    tools, model = [calling(bench, *calls)], play(OUTER, "done")
    paused = await bench.run(model, tools)
    assert [(each.tool, each.run_id) for each in paused.pending] == [("mail", "run-1")]
    await bench.decide(paused.pending)
    result = await bench.recover(model, tools)
    assert said(result)[2] == ("tool", "charged 1, mailed x")
    assert bench.ran == [("charge", 1), ("mail", "x")]


async def test_a_function_that_catches_everything_cannot_swallow_a_pause(bench: Bench):
    """Item 119: nor what its answer would have been without the call."""
    calls = [("mail", {"to": "x"}), ("charge", {"cents": 1})]
    tools, model = [calling(bench, *calls, also_catch=True)], play(OUTER, "done")
    paused = await bench.run(model, tools)
    assert (paused.status, [each.tool for each in paused.pending]) == ("paused", ["mail"])
    await bench.decide(paused.pending, NO)
    result = await bench.recover(model, tools)
    assert said(result)[2] == ("tool", "ToolDenied, charged 1")
    assert bench.ran == [("charge", 1)]


async def test_a_loop_inside_that_pauses_parks_the_run_whatever_the_function_makes_of_it(
    bench: Bench,
):
    """Item 119: the function takes the paused loop's last reply for its answer."""
    inner = play([ask("mail", to="x")], "helped")
    model, tools = play(OUTER, "done"), [looping(bench, inner, bench.mail)]
    paused = await bench.run(model, tools)
    assert (paused.status, [each.tool for each in paused.pending]) == ("paused", ["mail"])
    await bench.decide(paused.pending)
    result = await bench.recover(model, tools)
    assert (said(result)[2], bench.ran) == (("tool", "helped"), [("mail", "x")])
    assert shown(inner)[-1] == "mailed x"


async def test_a_limit_of_the_run_ends_it_although_the_function_catches_errors(bench: Bench):
    """Item 155: the agent is the first call, and its third one is too many."""
    calls = [("charge", {"cents": n}) for n in range(4)]
    tools, model = [calling(bench, *calls, also_catch=True)], play(OUTER, "done")
    ctx = RunContext(limits=RunLimits(max_tool_calls=3))
    with pytest.raises(RunLimitExceeded, match="max_tool_calls"):
        await bench.run(model, tools, ctx=ctx)
    assert bench.ran == [("charge", 0), ("charge", 1)]
    more = RunContext(limits=RunLimits(max_tool_calls=5))
    assert (await bench.recover(model, tools, ctx=more)).status == "done"
    assert bench.ran == [("charge", n) for n in range(4)]
