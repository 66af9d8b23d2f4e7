"""RunLimits and agents: what agents use counts for the run, also when it is recovered and its agents replay."""

import asyncio
from typing import Any

import pytest
from tests.exec.agents_kit import Bench, Killed, agent, ask, play

from agent_adapter import (
    Executor,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    Tool,
    run_tool_loop,
    tool,
)
from agent_adapter.exec.checkpoints import DurableStore
from agent_adapter.limits import Meter
from agent_adapter.models import ModelReply, Usage
from agent_adapter.policies import Deny

OUTER = (ask("helper", task="t"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


def reply(said: Any, tokens: int = 0, cost: float = 0.0) -> ModelReply:
    """A final text, or calls, and what it used."""
    used = Usage(tokens - tokens // 2, tokens // 2, cost)
    return ModelReply(said, usage=used) if isinstance(said, str) else ModelReply(calls=tuple(said), usage=used)  # fmt: skip


def counted(ctx: RunContext) -> dict[str, float]:
    return {name: count for name, count in ctx.meter.used().items() if name != "seconds"}


def nop() -> Tool:
    @tool
    async def nop(n: int) -> str:
        return f"nop {n}"

    return nop


async def test_what_an_agent_uses_counts_for_the_run():
    """Items 28, 155: calls, model calls, tokens and cost, two agents deep."""
    deep = agent(play(reply([ask("nop", n=1)], 10, 1.0), reply("d", 20, 2.0)), nop(), name="deep")
    helper_model = play(reply([ask("deep", task="d"), ask("nop", n=1)], 30, 4.0), reply("h", 1, 0))
    model = play(reply(OUTER, 100, 8.0), reply("done", 2, 0))
    ctx = RunContext()
    result = await run_tool_loop(
        model, [agent(helper_model, deep, nop())], "go", executor=Executor(), ctx=ctx
    )
    assert counted(ctx) == {"tool_calls": 4, "model_calls": 6, "tokens": 163, "cost": 15.0}
    assert result.usage.tokens == 102


LIMITS = {
    "tool calls": RunLimits(max_tool_calls=3),
    "model calls": RunLimits(max_model_calls=3),
    "tokens": RunLimits(max_tokens=30),
    "cost": RunLimits(max_cost=3.0),
}


@pytest.mark.parametrize("given_to", ["context", "executor"])
@pytest.mark.parametrize("limit", LIMITS)
async def test_a_limit_reached_inside_an_agent_ends_the_run(limit: str, given_to: str):
    """Item 155: after the outer call and inner turns of one call each, nothing begins that is too much."""
    inner = [reply([ask("nop", n=n)], 10, 1.0) for n in range(3)]
    helper_model, model = play(*inner, "helped"), play(reply(OUTER, 10, 1.0), "done")
    ctx = RunContext(limits=LIMITS[limit] if given_to == "context" else None)
    executor = Executor(limits=LIMITS[limit] if given_to == "executor" else None)
    with pytest.raises(RunLimitExceeded, match="max_" + limit.replace(" ", "_")):
        await run_tool_loop(model, [agent(helper_model, nop())], "go", executor=executor, ctx=ctx)
    used = counted(ctx)
    assert (used["tool_calls"], used["model_calls"]) == {
        "tool calls": (3, 4),
        "model calls": (3, 3),
        "tokens": (2, 3),
        "cost": (2, 3),
    }[limit]
    assert len(model.requests) == 1


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
async def test_exactly_what_the_limit_allows_is_allowed(limits: RunLimits):
    """Item 155: three calls of each kind; tokens and cost are looked at before something begins."""
    helper_model = play(reply([ask("nop", n=1), ask("nop", n=2)], 10, 1.0), reply("helped", 9, 0.9))
    model = play(reply(OUTER, 10, 1.0), "done")
    ctx = RunContext(limits=limits)
    with_one_more = limits.max_model_calls is not None
    running = run_tool_loop(model, [agent(helper_model, nop())], "go", executor=Executor(), ctx=ctx)
    if with_one_more:
        with pytest.raises(RunLimitExceeded):
            await running
        assert (len(helper_model.requests), len(model.requests)) == (2, 1)
    else:
        assert (await running).status == "done"
        assert counted(ctx)["tool_calls"] == 3


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def context(self, max_seconds: float) -> RunContext:
        return RunContext(limits=RunLimits(max_seconds=max_seconds), meter=Meter(clock=self))

    @property
    def think(self) -> Tool:
        """Takes six seconds."""

        @tool(idempotent=True)
        async def think() -> str:
            self.now += 6
            return "thought"

        return think


async def test_seconds_are_those_of_the_whole_run():
    """Item 155: the clock does not start again with an agent."""
    clock = Clock()
    helper_model = play([ask("think")], [ask("think")], "helped")
    with pytest.raises(RunLimitExceeded, match="max_seconds"):
        await run_tool_loop(
            play([ask("think"), *OUTER], "done"),
            [clock.think, agent(helper_model, clock.think)],
            "go",
            executor=Executor(concurrency=1),
            ctx=clock.context(10),
        )
    assert (clock.now, len(helper_model.requests)) == (12, 1)


@pytest.mark.parametrize(("max_seconds", "ends"), [(13, True), (12, False)])
async def test_seconds_of_waiting_for_a_person_do_not_count(
    bench: Bench, max_seconds: float, ends: bool
):
    """Item 155: six before the pause and six after it, in an agent, and a thousand between them."""
    clock = Clock()
    helper_model = play([ask("think"), ask("mail", to="x")], [ask("think")], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, clock.think, bench.mail)]
    paused = await bench.run(model, tools, ctx=clock.context(13))
    clock.now += 1000
    await bench.decide(paused.pending)
    recovering = bench.recover(model, tools, ctx=clock.context(max_seconds))
    if ends:
        assert (await recovering).status == "done"
    else:
        with pytest.raises(RunLimitExceeded, match="max_seconds"):
            await recovering
    assert clock.now == 1012


async def test_a_limit_reached_in_one_agent_cancels_the_calls_beside_it_and_awaits_them():
    """Item 155."""
    begun, ended = asyncio.Event(), []

    @tool
    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    async def after_hang(_: Any) -> ModelReply:
        await begun.wait()
        return reply([ask("nop", n=1)])

    greedy = agent(play(after_hang, "x"), nop(), name="greedy")
    slow = agent(play([ask("hang")], "x"), hang, name="slow")
    model = play([ask("slow", task="t"), ask("greedy", task="t")], "done")
    ctx = RunContext(limits=RunLimits(max_tool_calls=3))
    with pytest.raises(RunLimitExceeded, match="max_tool_calls"):
        await run_tool_loop(model, [greedy, slow], "go", executor=Executor(), ctx=ctx)
    assert ended == ["hang"]


async def test_limits_of_the_calling_executor_hold_where_an_agent_has_one_of_its_own():
    """Item 155: what an agent's executor allows is less, never more."""
    calls = [ask("nop", n=n) for n in range(5)]
    tools = [agent(play(calls, "helped"), nop(), executor=Executor())]
    ctx = RunContext()
    with pytest.raises(RunLimitExceeded, match="max_tool_calls"):
        await run_tool_loop(
            play(OUTER, "done"),
            tools,
            "go",
            executor=Executor(limits=RunLimits(max_tool_calls=3)),
            ctx=ctx,
        )
    assert counted(ctx)["tool_calls"] <= 3


def killed_run(bench: Bench) -> tuple[Any, list[Tool]]:
    """A run that dies in `note`, after one agent ended and in the second turn of another."""
    quick = agent(play(reply("quick", 5, 1.0)), name="quick")
    helper_model = play(
        reply([ask("nop", n=1)], 7, 0.5),
        reply([ask("note", text="x")], 7, 0.5),
        reply("h", 2, 0.25),
    )
    helper = agent(helper_model, nop(), bench.note)
    model = play(reply([ask("quick", task="t"), *OUTER], 10, 2.0), reply("done", 1, 1.0))
    bench.dies_in = {"note"}
    return model, [quick, helper]


async def test_a_recovered_run_counts_what_it_used_before_and_nothing_twice(bench: Bench):
    """Items 93, 155: four tool calls, six model calls, whether they replay or not."""
    model, tools = killed_run(bench)
    ctx = RunContext()
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1, ctx=ctx)
    assert counted(ctx) == {"tool_calls": 4, "model_calls": 4, "tokens": 29, "cost": 4.0}
    bench.dies_in = set()
    ctx = RunContext()
    result = await bench.recover(model, tools, concurrency=1, ctx=ctx)
    assert counted(ctx) == {"tool_calls": 4, "model_calls": 6, "tokens": 32, "cost": 5.25}
    assert (result.usage.tokens, result.usage.cost) == (1, 1.0)


RECOVERED = {
    "tool calls": RunLimits(max_tool_calls=3),
    "model calls": RunLimits(max_model_calls=4),
    "tokens": RunLimits(max_tokens=29),
    "cost": RunLimits(max_cost=4.0),
}


@pytest.mark.parametrize("limits", RECOVERED.values(), ids=RECOVERED.keys())
async def test_a_limit_that_was_reached_before_the_crash_is_reached_after_it(
    bench: Bench, limits: RunLimits
):
    """Items 93, 155; with a higher one the run can be recovered again."""
    model, tools = killed_run(bench)
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1)
    bench.dies_in = set()
    with pytest.raises(RunLimitExceeded):
        await bench.recover(model, tools, concurrency=1, ctx=RunContext(limits=limits))
    assert (await bench.step())[1] == "running"
    result = await bench.recover(model, tools, concurrency=1)
    assert result.status == "done"


async def test_what_waits_for_a_person_counts_once(bench: Bench):
    """Item 155: a pause inside an agent, and the whole way to it replayed."""
    helper_model = play(reply([ask("nop", n=1), ask("mail", to="x")], 4), reply("helped", 4))
    model, tools = play(reply(OUTER, 4), reply("done", 4)), [agent(helper_model, nop(), bench.mail)]
    paused = await bench.run(model, tools)
    for _ in range(2):
        assert (await bench.recover(model, tools)).status == "paused"
    await bench.decide(paused.pending)
    ctx = RunContext(limits=RunLimits(max_tool_calls=3, max_model_calls=4, max_tokens=13))
    assert (await bench.recover(model, tools, ctx=ctx)).status == "done"
    assert counted(ctx) == {"tool_calls": 3, "model_calls": 4, "tokens": 16, "cost": 0}


async def test_a_refused_call_counts_the_same_when_it_replays(bench: Bench):
    """Item 155: a guard refused it before the pause."""

    def no_charge(call: Any, ctx: RunContext) -> Deny | None:
        return Deny("never") if call.name == "charge" else None

    executor = Executor(approvals=bench.executor.approvals, guards=[no_charge])
    model, tools = (
        play([ask("charge", cents=1), ask("mail", to="x")], "done"),
        [bench.charge, bench.mail],
    )
    first, second = RunContext(), RunContext()
    paused = await bench.run(model, tools, executor=executor, ctx=first)
    await bench.decide(paused.pending)
    await bench.recover(model, tools, executor=executor, ctx=second)
    assert first.meter.used()["tool_calls"] == second.meter.used()["tool_calls"]
