"""Limits of a run in the executor: what counts, what stops, and what happens to the siblings (item 155)."""

import asyncio

import pytest

from agent_adapter import Executor, Registry, RunContext, RunLimitExceeded, ToolCall, tool
from agent_adapter.exec import Backoff
from agent_adapter.exec.integration import make_journal, visit_scope
from agent_adapter.limits import Meter, RunLimits, current_meter, meter_scope
from agent_adapter.policies import Deny


class Bench:
    """Tools `work` and `outer`, which makes three calls of `work`, and an executor with these settings."""

    def __init__(self, **settings) -> None:
        self.ran: list[str] = []

        @tool
        async def work() -> str:
            self.ran.append("work")
            return "done"

        @tool
        async def outer(ctx: RunContext) -> str:
            self.ran.append("outer")
            for _ in range(3):
                await self.executor.run("work", ctx=ctx)
            return "done"

        self.executor = Executor(Registry([work, outer]), **settings)


def limited(**limits) -> RunContext:
    return RunContext(limits=RunLimits(**limits))


async def test_calls_that_share_a_context_share_its_limits():
    bench, ctx = Bench(), limited(max_tool_calls=2)
    for _ in range(2):
        await bench.executor.run("work", ctx=ctx)
    with pytest.raises(RunLimitExceeded, match="max_tool_calls of 2"):
        await bench.executor.run_call(ToolCall("c", "work"), ctx)
    assert len(bench.ran) == 2
    assert await bench.executor.run("work", ctx=limited(max_tool_calls=2)) == "done"


async def test_the_executors_limits_hold_for_every_run_by_itself():
    bench = Bench(limits=RunLimits(max_tool_calls=1))
    assert bench.executor.limits == RunLimits(max_tool_calls=1)
    assert await bench.executor.run("work") == "done"
    assert await bench.executor.run("work") == "done"
    with pytest.raises(RunLimitExceeded):
        await bench.executor.run_many([ToolCall("a", "work"), ToolCall("b", "work")])


async def test_calls_inside_a_call_count_and_the_limit_ends_the_outer_call_too():
    """Item 155: a limit of the run is no failure of a tool."""
    bench = Bench()
    with pytest.raises(RunLimitExceeded, match="max_tool_calls of 3"):
        await bench.executor.run_call(ToolCall("c", "outer"), limited(max_tool_calls=3))
    assert bench.ran == ["outer", "work", "work"]


async def test_the_limit_holds_inside_a_call_that_does_not_hand_its_context_on():
    """Item 155."""
    bench = Bench()

    @tool
    async def forgetful() -> None:
        for _ in range(3):
            await bench.executor.run("work")

    with pytest.raises(RunLimitExceeded, match="max_tool_calls of 3"):
        await bench.executor.run(forgetful, ctx=limited(max_tool_calls=3))
    assert bench.ran == ["work", "work"]


@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({"max_tokens": 100}, {"tokens": 100}),
        ({"max_cost": 1.5}, {"cost": 1.5}),
        ({"max_seconds": 10}, {"seconds": 10.0}),
    ],
    ids=["tokens", "cost", "seconds"],
)
async def test_nothing_runs_once_something_else_is_used_up(limits, used):
    """Item 155."""
    bench, ctx = Bench(), limited(**limits)
    ctx.meter.restore(used)
    with pytest.raises(RunLimitExceeded, match=next(iter(limits))):
        await bench.executor.run("work", ctx=ctx)
    assert bench.ran == []


async def test_a_limit_cancels_the_calls_that_run_and_waits_for_their_end():
    """Item 155: running siblings are cancelled and awaited."""
    log, running = [], asyncio.Event()

    @tool
    async def long() -> None:
        try:
            running.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cleaned up")

    @tool
    async def over() -> None:
        await running.wait()
        raise RunLimitExceeded("max_tokens of 1 is reached")

    @tool
    async def later() -> None:
        log.append("later")

    calls = [ToolCall(str(n), name) for n, name in enumerate(("long", "over", "later"))]
    with pytest.raises(RunLimitExceeded, match="max_tokens of 1"):
        await Executor(Registry([long, over, later])).run_many(calls, concurrency=2)
    assert log == ["cleaned up"]


async def test_a_call_that_a_guard_refuses_counts_like_its_replay_and_no_limit_is_asked():
    bench, ctx = Bench(guards=(lambda call, ctx: Deny("no"),)), limited(max_tool_calls=1)
    results = await bench.executor.run_many([ToolCall(str(n), "work") for n in range(3)], ctx)
    assert [result.status for result in results] == ["denied"] * 3
    assert ctx.meter.used()["tool_calls"] == 3


async def test_a_replayed_call_counts_as_it_did_and_is_never_refused():
    bench = Bench()
    journal = make_journal()
    with visit_scope(None, journal):
        await bench.executor.run("work")
    ctx = limited(max_tool_calls=0)
    with visit_scope(None, make_journal(journal.data())):
        assert await bench.executor.run("work", ctx=ctx) == "done"
    assert ctx.meter.used()["tool_calls"] == 1


async def test_what_a_call_spent_inside_itself_is_on_its_slot_and_counts_again_when_it_is_replayed():
    """Item 155: counted across recovery."""
    spent = {}

    @tool
    async def agent() -> str:
        current_meter().add({"tokens": 70, "model_calls": 2})
        return await executor.run("work")

    class Record:
        run_id, life = "run", "life"

        def __init__(self, known=None) -> None:
            self.known = known

        async def look(self, slot):
            slot.spent = spent.get(slot.tool, {})
            return self.known

        async def started(self, slot):
            return None

        async def settle(self, slot, result):
            spent[slot.tool] = dict(slot.spent)
            self.last = result

        async def decide(self, slot, request): ...
        async def park(self, slot, request): ...
        async def leave(self, slot, error): ...
        async def late(self, slot, result): ...

    executor = Executor(Registry([agent, *Bench().executor.registry]))
    first, ctx = Record(), RunContext()
    with visit_scope(None, make_journal(observer=first)):
        await executor.run("agent", ctx=ctx)
    used = ctx.meter.used()
    assert spent["agent"] == {"tokens": 70, "model_calls": 2, "tool_calls": 1}
    assert spent["work"] == {}
    again = RunContext()
    with visit_scope(None, make_journal(observer=Record(first.last))):
        await executor.run("agent", ctx=again)
    replayed = again.meter.used()
    assert {name: replayed[name] for name in ("tool_calls", "model_calls", "tokens")} == {
        name: used[name] for name in ("tool_calls", "model_calls", "tokens")
    }
    assert used["tool_calls"] == 2


async def test_attempts_of_one_call_are_one_call():
    tries = []

    @tool(idempotent=True, retry=3)
    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError
        return "done"

    ctx = limited(max_tool_calls=1)
    executor = Executor(Registry([flaky]), backoff=Backoff(initial=0))
    assert await executor.run("flaky", ctx=ctx) == "done"
    assert ctx.meter.used()["tool_calls"] == 1


async def test_a_meter_around_the_calls_counts_before_the_contexts():
    around, ctx = Meter(), RunContext()
    with meter_scope(around):
        await Bench().executor.run("work", ctx=ctx)
    assert (around.used()["tool_calls"], ctx.meter.used()["tool_calls"]) == (1, 0)
