"""What ends a plan early: fail_fast, control flow, a limit, and the caller's own cancellation (items 10, 25, 155, 156)."""

import asyncio

import pytest

from agent_adapter import (
    Executor,
    MemoryApprovalStore,
    Registry,
    RunLimitExceeded,
    RunLimits,
    ToolError,
    tool,
)
from agent_adapter.exec import Step, register_control_flow
from agent_adapter.exec.integration import make_journal, visit_scope


class Pause(BaseException):
    pass


register_control_flow(Pause)

NOT_STARTED = ToolError(
    "cancelled", "CancelledError", "another step failed first; this one did not start"
)
CUT_SHORT = ToolError(
    "cancelled",
    "CancelledError",
    "another step failed first; an effect of this one may have happened",
)


class Bench:
    """Tools that log their begin and their end."""

    def __init__(self, **settings) -> None:
        self.log: list[str] = []
        self.go = asyncio.Event()
        self.holding = asyncio.Semaphore(0)
        self.store = MemoryApprovalStore()

        @tool
        async def ok(n: int = 0) -> str:
            self.log.append("ok")
            return "ok"

        @tool
        async def hold(n: int = 0) -> str:
            self.log.append("hold")
            self.holding.release()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                self.log.append("hold cancelled")
                raise
            self.log.append("hold ended")
            return "hold"

        @tool
        async def bad() -> None:
            await self.holding.acquire()
            self.log.append("bad")
            raise ValueError("bad")

        @tool
        async def pause() -> None:
            await self.holding.acquire()
            self.log.append("pause")
            asyncio.get_running_loop().call_soon(self.go.set)
            raise Pause

        ask = tool(name="ask", confirm=True)(lambda: self.log.append("ask"))
        registry = Registry([ok, hold, bad, pause, ask])
        self.executor = Executor(registry, approvals=self, **settings)

    async def request(self, request, ctx):
        await self.store.park(request)


async def test_with_fail_fast_nothing_starts_after_the_failure_and_running_steps_are_cancelled():
    """Items 25 and 156."""
    bench = Bench()
    results = await bench.executor.run_plan(
        [
            Step("done", "ok"),
            Step("running", "hold"),
            Step("failing", "bad"),
            Step("waiting", "ok", {"n": 1}),
            Step("dependent", "ok", needs=["failing"]),
            Step("later", "ok", needs=["running"]),
        ],
        concurrency=2,
        on_error="fail_fast",
    )
    assert bench.log == ["ok", "hold", "bad", "hold cancelled"]
    assert [r.status for r in results.values()] == ["ok", "cancelled", "error", *["cancelled"] * 3]
    assert results["running"].error == CUT_SHORT
    assert results["waiting"].error == NOT_STARTED
    assert results["dependent"].error.message == "of what it needs, 'failing' failed"
    assert results["later"].error.message == "of what it needs, 'running' did not come to its end"


async def test_a_step_that_cannot_begin_is_a_failure_for_fail_fast_too():
    """Items 25 and 156: also while others have not had their first turn."""
    bench = Bench()
    results = await bench.executor.run_plan(
        [
            Step("began", "hold"),
            Step("refused", "ok", when=lambda results: None),
            Step("waiting", "ok"),
        ],
        on_error="fail_fast",
    )
    assert bench.log == []
    assert results["refused"].error.type == "TypeError"
    assert results["began"].error == CUT_SHORT
    assert results["waiting"].error == NOT_STARTED


async def test_a_result_known_when_another_step_fails_stays_visible():
    """Item 25: finished effects are not hidden."""
    settling, failed = asyncio.Event(), asyncio.Event()

    class Slow:
        async def started(self, slot):
            return None

        async def settle(self, slot, result):
            if slot.tool == "charge":
                settling.set()
                await failed.wait()
                for _ in range(50):
                    await asyncio.sleep(0)

    @tool
    async def charge() -> str:
        return "charged"

    @tool
    async def bad() -> None:
        await settling.wait()
        failed.set()
        raise ValueError("bad")

    with visit_scope(None, make_journal(observer=Slow())):
        results = await Executor().run_plan(
            [Step("a", charge), Step("b", bad)], on_error="fail_fast"
        )
    assert [(r.status, r.value) for r in results.values()] == [("ok", "charged"), ("error", None)]


async def test_a_skipped_or_a_parked_step_is_no_failure_for_fail_fast():
    """Item 156."""
    bench = Bench()
    results = await bench.executor.run_plan(
        [
            Step("skipped", "ok", when=lambda results: False),
            Step("parked", "ask"),
            Step("waits", "ok", needs=["parked"]),
            Step("runs", "ok"),
        ],
        concurrency=1,
        on_error="fail_fast",
    )
    assert [r.status for r in results.values()] == ["cancelled", "pending", "cancelled", "ok"]
    assert results["waits"].error == ToolError(
        "skipped", "Skipped", "of what it needs, 'parked' waits for a person"
    )
    assert bench.log == ["ok"]


@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
async def test_a_pause_starts_nothing_more_and_lets_running_steps_finish(on_error):
    """Items 10 and 156: a neighbour's effect is not cut short and stays recorded."""
    bench, journal = Bench(), make_journal()
    plan = [Step("a", "hold"), Step("b", "pause"), Step("c", "ok"), Step("d", "ok", needs=["a"])]
    with visit_scope(None, journal), pytest.raises(Pause):
        await bench.executor.run_plan(plan, concurrency=2, on_error=on_error)
    assert bench.log == ["hold", "pause", "hold ended"]
    recorded = journal.data()["calls"]
    assert list(recorded.values()) == [{"value": "hold"}]


@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
async def test_what_is_no_ordinary_error_escapes_itself(stop):
    def leave() -> None:
        raise stop

    with pytest.raises(type(stop)) as caught:
        await Executor().run_plan([Step("a", tool(name="leave")(leave))])
    assert caught.value is stop


async def test_a_limit_that_is_reached_cancels_the_running_steps_and_awaits_them():
    """Item 155: all steps count for one run, also without a context."""
    bench = Bench(limits=RunLimits(max_tool_calls=2))
    with pytest.raises(RunLimitExceeded, match="max_tool_calls of 2"):
        await bench.executor.run_plan(
            [Step("a", "ok"), Step("b", "hold"), Step("c", "ok", needs=["a"])]
        )
    assert bench.log == ["ok", "hold", "hold cancelled"]


async def test_cancelling_the_caller_cancels_all_and_waits_for_their_end():
    """Item 156."""
    bench = Bench()
    plan = [Step("a", "hold"), Step("b", "hold", {"n": 1}), Step("c", "ok", needs=["a"])]
    task = asyncio.create_task(bench.executor.run_plan(plan))
    await bench.holding.acquire()
    await bench.holding.acquire()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert bench.log == ["hold", "hold", "hold cancelled", "hold cancelled"]


async def test_cancelling_the_caller_while_a_pause_waits_for_the_others_cancels_them():
    """Item 156."""
    bench, pausing = Bench(), asyncio.Event()

    @tool
    async def leave() -> None:
        await bench.holding.acquire()
        pausing.set()
        raise Pause

    task = asyncio.create_task(bench.executor.run_plan([Step("a", "hold"), Step("b", leave)]))
    await pausing.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert bench.log == ["hold", "hold cancelled"]
