"""Executor.run_many: order, parallelism, limits, and what a failure does to the others (items 24 and 25)."""

import asyncio
import random
import threading

import pytest

from agent_adapter import Executor, Registry, ToolCall, ToolError, ToolUsageError, tool
from agent_adapter.exec import OnError, register_control_flow
from agent_adapter.exec.integration import make_journal, visit_scope


class Pause(Exception):
    pass


register_control_flow(Pause)

CANCELLED = ToolError(
    "cancelled",
    "CancelledError",
    "another call failed first; an effect of this one may have happened",
)


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"c{n}", name) for n, name in enumerate(names)]


class Bench:
    """Tools that log their start, and go on when they are told."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go = asyncio.Event()

    async def started(self, count: int) -> None:
        for _ in range(100):
            if len(self.log) >= count:
                return
            await asyncio.sleep(0)
        raise AssertionError(self.log)

    def registry(self) -> Registry:
        @tool
        async def ok() -> str:
            self.log.append("ok")
            return "ok"

        @tool
        async def bad() -> str:
            self.log.append("bad")
            raise ValueError("bad")

        @tool
        async def long() -> str:
            self.log.append("long")
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.log.append("long cancelled")
                raise
            self.log.append("long ended")
            return "long"

        @tool
        async def pause() -> str:
            self.log.append("pause")
            asyncio.get_running_loop().call_later(0.01, self.go.set)
            raise Pause

        return Registry([ok, bad, long, pause])


@pytest.fixture
async def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("concurrency", [1, 3, None])
async def test_results_keep_the_input_order_whatever_takes_how_long(concurrency):
    """Item 24."""
    rng = random.Random(7)  # noqa: S311 - latencies

    @tool
    async def wait(n: int) -> int:
        for _ in range(rng.randrange(9)):
            await asyncio.sleep(0)
        return n

    many = [ToolCall(f"c{n}", "wait", {"n": n}) for n in range(20)]
    results = await Executor(Registry([wait])).run_many(many, concurrency=concurrency)
    assert [(r.call_id, r.value) for r in results] == [(f"c{n}", n) for n in range(20)]


async def test_no_more_than_the_limit_run_at_once():
    """Item 24."""
    running = peak = 0

    @tool
    async def work() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001)
        running -= 1

    executor = Executor(Registry([work]), concurrency=5)
    await executor.run_many(calls(*["work"] * 20), concurrency=3)
    assert peak == 3
    peak = 0
    await executor.run_many(calls(*["work"] * 20))
    assert peak == 5


async def test_sync_tools_run_side_by_side():
    barrier = threading.Barrier(20, timeout=10)
    meet = tool(name="meet")(lambda: barrier.wait() is not None)
    results = await Executor(Registry([meet])).run_many(calls(*["meet"] * 20), concurrency=20)
    assert all(result.value for result in results)


async def test_with_collect_every_call_runs(bench):
    """Item 25."""
    results = await Executor(bench.registry()).run_many(calls("ok", "bad", "ok", "missing", "ok"))
    assert [r.status for r in results] == ["ok", "error", "ok", "error", "ok"]
    assert bench.log == ["ok", "bad", "ok", "ok"]


async def test_with_fail_fast_nothing_starts_after_the_failure_and_running_calls_are_cancelled(
    bench,
):
    """Item 25."""
    fail_fast: OnError = "fail_fast"
    results = await Executor(bench.registry()).run_many(
        calls("ok", "long", "bad", "ok", "ok"), concurrency=2, on_error=fail_fast
    )
    assert bench.log == ["ok", "long", "bad", "long cancelled"]
    assert [r.call_id for r in results] == ["c0", "c1", "c2", "c3", "c4"]
    assert [r.status for r in results] == ["ok", "cancelled", "error", "cancelled", "cancelled"]
    assert [r.error for r in results if r.status == "cancelled"] == [CANCELLED] * 3


async def test_a_call_that_cannot_start_is_a_failure_for_fail_fast_too(bench):
    """Item 25."""
    results = await Executor(bench.registry()).run_many(
        calls("ok", "missing", "ok", "missing"), concurrency=1, on_error="fail_fast"
    )
    assert [r.status for r in results] == ["ok", "error", "cancelled", "error"]


async def test_a_result_known_when_another_call_fails_stays_visible():
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
        results = await Executor(Registry([charge, bad])).run_many(
            calls("charge", "bad"), on_error="fail_fast"
        )
    assert [(r.status, r.value) for r in results] == [("ok", "charged"), ("error", None)]


@pytest.mark.parametrize("on_error", ["raise", "", None, "COLLECT"])
async def test_another_word_for_on_error_is_refused_and_nothing_runs(bench, on_error):
    """Item 25."""
    with pytest.raises(ToolUsageError, match="'collect' or 'fail_fast'"):
        await Executor(bench.registry()).run_many(calls("ok"), on_error=on_error)
    assert bench.log == []


@pytest.mark.parametrize("concurrency", [0, -1, True, "3"])
async def test_a_limit_that_is_no_number_from_one_is_refused_and_nothing_runs(bench, concurrency):
    with pytest.raises(ToolUsageError, match="number from 1"):
        await Executor(bench.registry()).run_many(calls("ok"), concurrency=concurrency)
    assert bench.log == []


async def test_something_that_is_no_call_is_refused_and_nothing_runs(bench):
    with pytest.raises(ToolUsageError, match="is no ToolCall"):
        await Executor(bench.registry()).run_many([*calls("ok"), {"name": "ok"}])
    assert bench.log == []


async def test_no_calls_give_no_results(bench):
    assert await Executor(bench.registry()).run_many([]) == []


@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
async def test_a_pause_starts_nothing_more_and_lets_running_calls_finish(bench, on_error):
    """Items 10 and 25: control flow escapes in both; a neighbour's effect is not cut short and stays recorded."""
    journal = make_journal()
    with visit_scope(None, journal), pytest.raises(Pause):
        await Executor(bench.registry()).run_many(
            calls("long", "pause", "ok"), concurrency=2, on_error=on_error
        )
    assert bench.log == ["long", "pause", "long ended"]
    assert list(journal.data()["calls"].values()) == [{"value": "long"}]


async def test_cancelling_the_caller_cancels_all_and_waits_for_their_end(bench):
    executor = Executor(bench.registry())
    task = asyncio.create_task(executor.run_many(calls("long", "long", "ok"), concurrency=2))
    await bench.started(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.log == ["long", "long", "long cancelled", "long cancelled"]
