"""The executor's road through a journal that an observer makes durable, and calls made inside calls."""

import asyncio
import contextlib
from typing import Any

import pytest

from agent_adapter import (
    CheckpointConflict,
    Executor,
    Registry,
    ToolCall,
    ToolError,
    ToolFailed,
    ToolResult,
    tool,
)
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.checkpoints import idempotency_key
from agent_adapter.exec.integration import Observer, Slot, make_journal, visit_scope


class Pause(Exception):
    pass


class BackendError(Exception):
    pass


register_control_flow(Pause)


class Scripted:
    """An observer that notes its calls and does what the script says at `(event, tool)`."""

    def __init__(self, **script: Any) -> None:
        self.log: list[str] = []
        self.slots: list[Slot] = []
        self._script = script

    async def started(self, slot: Slot) -> ToolResult | None:
        self.slots.append(slot)
        return await self._act("started", slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        await self._act("settle", slot)

    async def _act(self, event: str, slot: Slot) -> Any:
        self.log.append(f"{event} {slot.tool}")
        await asyncio.sleep(0)
        said = self._script.get(f"{event}_{slot.tool}")
        if isinstance(said, BaseException):
            raise said
        return said(slot) if callable(said) else said


class Bench:
    """A tool `work`, a tool `outer` that calls it through the executor, and a journal with a scripted observer."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.swallow = False

        @tool
        async def work(x: Any = None) -> Any:
            self.ran.append(x)
            return x

        @tool
        async def outer(x: Any = None) -> Any:
            self.ran.append(f"outer {x}")
            try:
                return await self.executor.run("work", {"x": x})
            except Exception:
                if not self.swallow:
                    raise
            return "swallowed"

        self.executor = Executor(Registry([work, outer]))

    async def visit(
        self, observer: Observer | None, *calls: tuple[str, Any], data: Any = None
    ) -> list[Any]:
        self.journal = make_journal(data, observer=observer)
        with visit_scope(None, self.journal):
            return [await self.executor.run(name, {"x": x}) for name, x in calls]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_the_start_is_noted_before_the_body_and_the_end_after_the_record(bench):
    order: list[str] = []

    def settled(slot: Slot) -> None:
        order.append(f"settled, kept {slot.kept}")

    def started(slot: Slot) -> None:
        order.append(f"started, ran {bench.ran}")

    await bench.visit(Scripted(started_work=started, settle_work=settled), ("work", 1))
    assert order == ["started, ran []", "settled, kept {'value': 1}"]


async def test_an_observer_finds_the_tools_policy_on_the_slot(bench):
    observer = Scripted()
    await bench.visit(observer, ("work", 1))
    assert observer.slots[0].policy is bench.executor.registry.get("work")


async def test_an_observer_may_answer_a_call_and_then_the_body_does_not_run(bench):
    answer = ToolResult(call_id="other", tool="other", value="from the store", replayed=True)
    observer = Scripted(started_work=answer)
    assert await bench.visit(observer, ("work", 1)) == ["from the store"]
    assert bench.ran == []
    assert observer.log == ["started work", "settle work"]
    assert list(bench.journal.data()["calls"].values()) == [{"value": "from the store"}]
    with visit_scope(None, make_journal(observer=observer)):
        result = await bench.executor.run_call(ToolCall("c", "work", {"x": 1}))
    assert (result.call_id, result.tool, result.replayed) == ("c", "work", True)


@pytest.mark.parametrize("status", ["pending", "denied"])
async def test_a_pending_answer_is_not_recorded_and_a_denial_is(bench, status):
    """Item 129, through the executor."""
    error = ToolError("denied", "Denied", "no") if status == "denied" else None
    answer = ToolResult(call_id="", tool="", status=status, error=error, approval="r1")
    observer = Scripted(started_work=answer)
    journal = make_journal(observer=observer)
    with visit_scope(None, journal):
        result = await bench.executor.run_call(ToolCall("c", "work"))
        with pytest.raises(ToolFailed, match="no" if error else "pending"):
            await bench.executor.run("work", {"x": 2})
    assert (result.status, result.approval, bench.ran) == (status, "r1", [])
    assert len(journal.data().get("calls", {})) == (2 if error else 0)


async def test_the_observers_idempotency_key_is_seen_inside_the_body_alone(bench):
    """Items 109 and 112, as far as the executor goes."""
    keys = []

    @tool
    def sync() -> None:
        keys.append(idempotency_key())

    @tool
    async def container() -> None:
        keys.append(idempotency_key())
        await bench.executor.run(sync)
        keys.append(idempotency_key())

    def name_it(slot: Slot) -> None:
        slot.idempotency_key = f"key of {slot.tool}"

    observer = Scripted(started_sync=name_it, started_container=name_it)
    with visit_scope(None, make_journal(observer=observer)):
        await bench.executor.run(container)
        keys.append(idempotency_key())
    assert keys == ["key of container", "key of sync", "key of container", None]


@pytest.mark.parametrize("event", ["started", "settle"])
@pytest.mark.parametrize("error", [CheckpointConflict("run", "taken over"), BackendError("down")])
async def test_an_error_of_the_observer_escapes_and_is_no_result(bench, event, error):
    """Section 2: fail closed; item 106: without a stored start the body does not run."""
    script = {f"{event}_work": error}
    with pytest.raises(type(error)) as caught:
        await bench.visit(Scripted(**script), ("work", 1))
    assert caught.value is error
    assert bench.ran == ([] if event == "started" else [1])
    with visit_scope(None, make_journal(observer=Scripted(**script))), pytest.raises(type(error)):
        await bench.executor.run_many([ToolCall("c", "work")], on_error="fail_fast")


@pytest.mark.parametrize("event", ["started", "settle"])
async def test_a_tool_cannot_swallow_an_observers_error_of_a_call_inside_it(bench, event):
    bench.swallow = True
    error = BackendError("down")
    with pytest.raises(BackendError) as caught:
        await bench.visit(Scripted(**{f"{event}_work": error}), ("outer", 1))
    assert caught.value is error
    assert bench.journal.data().get("calls", {}) == {}


async def test_not_even_two_tools_in_each_other_can_swallow_it(bench):
    @tool
    async def outermost() -> str:
        with contextlib.suppress(BackendError):
            await bench.executor.run("outer", {"x": 1})
        return "swallowed"

    bench.swallow = True
    journal = make_journal(observer=Scripted(started_work=BackendError("down")))
    with visit_scope(None, journal), pytest.raises(BackendError):
        await bench.executor.run(outermost)
    assert journal.data() == {}


async def test_an_error_about_a_stored_run_is_no_result_wherever_it_comes_from():
    error = CheckpointConflict("another run", "taken over")

    @tool
    async def nested_run() -> None:
        raise error

    with pytest.raises(CheckpointConflict) as caught:
        await Executor(Registry([nested_run])).run_call(ToolCall("c", "nested_run"))
    assert caught.value is error


async def test_after_an_observers_error_nothing_more_starts_and_running_calls_are_recorded(bench):
    release = asyncio.Event()

    @tool
    async def slow() -> str:
        await release.wait()
        return "charged"

    def fail(slot: Slot) -> None:
        release.set()
        raise CheckpointConflict("run", "taken over")

    observer = Scripted(started_work=fail)
    journal = make_journal(observer=observer)
    calls = [ToolCall(str(n), name) for n, name in enumerate(("slow", "work", "work"))]
    with visit_scope(None, journal), pytest.raises(CheckpointConflict):
        await Executor(Registry([slow, *bench.executor.registry])).run_many(calls, concurrency=2)
    assert observer.log == ["started slow", "started work", "settle slow"]
    assert list(journal.data()["calls"].values()) == [{"value": "charged"}]


async def test_an_observers_error_counts_more_than_a_pause(bench):
    calls = [ToolCall("0", "work"), ToolCall("1", "outer")]
    observer = Scripted(started_work=Pause(), started_outer=BackendError("down"))
    with visit_scope(None, make_journal(observer=observer)), pytest.raises(BackendError):
        await bench.executor.run_many(calls)


async def test_a_pause_comes_before_the_body_so_the_body_cannot_swallow_it(bench):
    """Item 119."""
    bench.swallow = True
    with pytest.raises(Pause):
        await bench.visit(Scripted(started_outer=Pause()), ("outer", 1))
    assert bench.ran == []
    assert bench.journal.data() == {}


async def test_settling_is_brought_to_its_end_although_the_caller_is_cancelled(bench):
    settling, go = asyncio.Event(), asyncio.Event()

    class Slow(Scripted):
        async def settle(self, slot: Slot, result: ToolResult) -> None:
            settling.set()
            await go.wait()
            self.log.append("settled")

    observer = Slow()
    task = asyncio.create_task(bench.visit(observer, ("work", 1)))
    await settling.wait()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert observer.log == ["started work", "settled"]
    assert list(bench.journal.data()["calls"].values()) == [{"value": 1}]


async def test_calls_inside_a_call_have_their_place_below_it_and_shift_nobody_elses(bench):
    """A replayed call makes no inner calls; an equal call after it must not take over their place."""
    observer = Scripted()
    first = await bench.visit(observer, ("outer", 1), ("work", 1))
    outer, inner, after = observer.slots
    assert inner.path == f"{outer.key}/"
    assert (inner.occurrence, after.occurrence, after.path) == (0, 0, "")
    assert inner.key != after.key
    data = bench.journal.data()
    assert list(data) == ["calls"]
    bench.ran.clear()
    assert await bench.visit(None, ("outer", 1), ("work", 1), data=data) == first
    assert bench.ran == []


async def test_calls_that_finished_inside_an_unfinished_call_are_replayed_inside_it(bench):
    @tool
    async def two_steps(x: int) -> int:
        await bench.executor.run("work", {"x": x})
        if pausing:
            raise Pause
        return x

    pausing = True
    journal = make_journal()
    with visit_scope(None, journal), pytest.raises(Pause):
        await bench.executor.run(two_steps, {"x": 1})
    pausing = False
    data = journal.data()
    assert list(data) == ["inside"]
    again = make_journal(data)
    with visit_scope(None, again):
        await bench.executor.run(two_steps, {"x": 1})
        await bench.executor.run("work", {"x": 1})
    assert bench.ran == [1, 1]
    assert list(again.data()) == ["calls"]


async def test_an_inner_call_that_cannot_be_replayed_does_not_become_the_outer_calls_failure(bench):
    @tool
    async def outer_pausing() -> None:
        await bench.executor.run("work", {"x": object()})
        raise Pause

    journal = make_journal()
    with visit_scope(None, journal), pytest.raises(Pause):
        await bench.executor.run(outer_pausing)
    again = make_journal(journal.data())
    with visit_scope(None, again), pytest.raises(Exception, match="already ran") as caught:
        await bench.executor.run(outer_pausing)
    assert not isinstance(caught.value, ToolFailed)
    assert len(bench.ran) == 1
    assert again.data() == journal.data()
