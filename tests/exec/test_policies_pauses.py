"""A call inside a body that waits for a person: the call around it waits too, whatever its body does (item 119)."""

import asyncio
import contextlib

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    ApprovalPending,
    Executor,
    MemoryApprovalStore,
    Registry,
    ToolCall,
    tool,
)
from agent_adapter.exec._parked import Parked
from agent_adapter.exec.integration import make_answer, make_journal, visit_scope

YES = ApprovalDecision(approved=True)


class Bench:
    """A tool `pay` that needs approval, a tool `note` that does not, and tools that call them."""

    def __init__(self) -> None:
        self.store = MemoryApprovalStore()
        self.ran: list[str] = []

        @tool(confirm=True)
        def pay() -> str:
            self.ran.append("pay")
            return "paid"

        @tool
        def note() -> str:
            self.ran.append("note")
            return "noted"

        @tool
        async def plain() -> str:
            await self.executor.run("note")
            return await self.executor.run("pay")

        @tool(idempotent=True, retry=3)
        async def swallowing() -> str:
            self.ran.append("swallowing")
            try:
                return await self.executor.run("pay")
            except Exception:  # noqa: BLE001 - the very thing that must not work
                return "swallowed"

        @tool
        async def failing() -> str:
            with contextlib.suppress(Exception):
                await self.executor.run("pay")
            raise ValueError("something else")

        @tool
        async def grouped() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.executor.run("pay"))

        @tool
        async def collecting() -> list[str]:
            calls = [ToolCall("a", "pay"), ToolCall("b", "pay")]
            return [str(result.value) for result in await self.executor.run_many(calls)]

        tools = [pay, note, plain, swallowing, failing, grouped, collecting]
        self.executor = Executor(Registry(tools), approvals=self)

    async def request(self, request, ctx):
        return (await self.store.park(request)).decision

    async def call(self, name: str, journal=None, answer=None):
        with visit_scope(answer, journal or make_journal()):
            return await self.executor.run_call(ToolCall("c", name))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("name", ["plain", "swallowing", "failing", "grouped", "collecting"])
async def test_no_body_can_swallow_that_a_call_inside_it_waits(bench, name):
    """Item 119."""
    journal = make_journal()
    result = await bench.call(name, journal)
    parked = [request.id for request in await bench.store.list_pending()]
    assert (result.status, result.approval) == ("pending", parked[0])
    assert [request.id for request in journal.parked] == parked
    assert "pay" not in bench.ran
    assert "calls" not in journal.data()


async def test_what_waits_is_never_tried_again(bench):
    result = await bench.call("swallowing")
    assert (bench.ran, result.attempts) == (["swallowing"], 1)


async def test_run_names_every_request_inside(bench):
    with visit_scope(None, make_journal()), pytest.raises(ApprovalPending) as caught:
        await bench.executor.run("collecting")
    assert list(caught.value.requests) == await bench.store.list_pending()
    assert len(caught.value.requests) == 2


async def test_after_the_decision_the_body_begins_anew_and_finished_calls_inside_it_are_replayed(
    bench,
):
    journal = make_journal()
    parked = await bench.call("plain", journal)
    await bench.store.decide(parked.approval, YES)
    result = await bench.call("plain", make_journal(journal.data()))
    assert (result.value, bench.ran) == ("paid", ["note", "pay"])


async def test_an_answer_that_comes_with_the_visit_decides_its_call_and_no_other(bench):
    """Item 116."""
    journal = make_journal()
    await bench.call("collecting", journal)
    first, second = await bench.store.list_pending()
    answer = make_answer([(first, YES, True)])
    result = await bench.call("collecting", make_journal(journal.data()), answer)
    assert (result.status, result.approval, bench.ran) == ("pending", second.id, ["pay"])
    assert (await bench.store.get(first.id)).consumer is not None
    assert await bench.store.list_pending() == [second]


async def test_an_answer_that_contradicts_the_own_store_escapes(bench):
    journal = make_journal()
    parked = await bench.call("pay", journal)
    stored = await bench.store.get(parked.approval)
    await bench.store.decide(parked.approval, ApprovalDecision(approved=False))
    answer = make_answer([(stored.request, YES, True)])
    with pytest.raises(ApprovalConflict):
        await bench.call("pay", make_journal(journal.data()), answer)
    assert bench.ran == []


async def test_in_a_visit_a_call_waits_without_a_port_and_the_answer_comes_with_the_next():
    ran = []

    @tool(confirm=True)
    def pay() -> str:
        ran.append("pay")
        return "paid"

    executor, journal = Executor(Registry([pay])), make_journal()
    with visit_scope(None, journal):
        parked = await executor.run_call(ToolCall("c", "pay"))
    assert (parked.status, ran) == ("pending", [])
    (request,) = journal.parked
    with visit_scope(make_answer([(request, YES, False)]), make_journal(journal.data())):
        assert await executor.run("pay") == "paid"
    assert ran == ["pay"]


async def test_outside_a_visit_a_call_inside_that_waits_makes_the_call_wait_too(bench):
    result = await bench.executor.run_call(ToolCall("c", "plain"))
    (request,) = await bench.store.list_pending()
    assert (result.status, result.approval) == ("pending", request.id)


@pytest.mark.parametrize("pauses", [True, False])
async def test_outside_a_visit_a_failure_beside_a_pause_is_a_failure(bench, pauses):
    """Outside a visit nothing but the body's own end says that it waits."""

    @tool
    async def grouped() -> None:
        errors = [ApprovalPending("pay", "p", ()), ValueError("no")]
        raise ExceptionGroup("both", errors if pauses else errors[1:])

    result = await Executor(Registry([grouped])).run_call(ToolCall("c", "grouped"))
    assert (result.status, result.error.kind) == ("error", "failed")


@pytest.mark.parametrize("visit", [True, False])
async def test_the_signal_of_a_nested_loop_makes_the_call_wait(bench, visit):
    """Through the private signal: it is how loops inside a body say that they pause."""
    await bench.call("pay")
    (request,) = await bench.store.list_pending()

    @tool
    async def loop() -> str:
        with contextlib.suppress(Exception):
            raise Parked((request,))
        return "swallowed"

    executor = Executor(Registry([loop]))
    with visit_scope(None, make_journal()) if visit else contextlib.nullcontext():
        result = await executor.run_call(ToolCall("c", "loop"))
        with pytest.raises(ApprovalPending) as caught:
            await executor.run("loop")
    assert (result.status, result.approval) == ("pending", request.id)
    assert caught.value.requests == (request,)


async def test_a_cancellation_counts_more_than_a_pause(bench):
    parked = asyncio.Event()

    @tool
    async def waiting() -> None:
        with contextlib.suppress(BaseException):
            await bench.executor.run("pay")
        parked.set()
        await asyncio.Event().wait()

    with visit_scope(None, make_journal()):
        task = asyncio.create_task(bench.executor.run(waiting))
    await parked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
