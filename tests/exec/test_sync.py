"""The executor's sync twins: what they return and raise, and the one loop that they share (items 17, 20, 23 to 25)."""

import asyncio
import contextvars
import random
import threading

import pytest

from agent_adapter import (
    Executor,
    Registry,
    RunContext,
    ToolArgumentsInvalid,
    ToolCall,
    ToolFailed,
    ToolNotFound,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import Step
from agent_adapter.exec.integration import make_journal, visit_scope

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


@tool
def double(x: int) -> int:
    return 2 * x


@tool
async def fail() -> int:
    raise ValueError("no")


@tool
async def the_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


@tool
async def never() -> None:
    await asyncio.Event().wait()


executor = Executor(Registry([double, fail, the_loop, never]))


def test_run_sync_gives_the_value():
    """Item 17."""
    assert executor.run_sync("double", {"x": "4"}) == 8
    assert Executor().run_sync(double, {"x": 4}) == 8


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("triple", {}, ToolNotFound),
        ("double", {"x": "four"}, ToolArgumentsInvalid),
        ("fail", {}, ToolFailed),
    ],
)
def test_run_sync_raises_what_run_raises(name, args, error):
    """Item 17."""
    with pytest.raises(ToolFailed) as blocking:
        executor.run_sync(name, args, call_id="c")
    with pytest.raises(ToolFailed) as awaited:
        asyncio.run(executor.run(name, args, call_id="c"))
    assert type(blocking.value) is type(awaited.value) is error
    assert blocking.value.args == awaited.value.args
    assert type(blocking.value.__cause__) is type(awaited.value.__cause__)


def test_run_call_sync_has_every_failure_in_its_result():
    """Item 23."""
    late = tool(name="late", timeout=0.01)(never.fn)
    registry = Registry([double, fail, late])
    calls = [
        ToolCall("a", "triple"),
        ToolCall("b", "double", {"x": "four"}),
        ToolCall("c", "fail"),
        ToolCall("d", "late"),
        ToolCall("e", "double", {"x": 2}),
    ]
    results = [executor.run_call_sync(call, registry=registry) for call in calls]
    assert [(r.call_id, r.ok, r.value, r.error and r.error.kind) for r in results] == [
        ("a", False, None, "not_found"),
        ("b", False, None, "invalid"),
        ("c", False, None, "failed"),
        ("d", False, None, "timeout"),
        ("e", True, 4, None),
    ]


def test_calls_from_any_thread_and_executor_run_on_one_loop():
    """Item 20."""
    loops = [executor.run_sync("the_loop"), Executor().run_sync(the_loop)]
    thread = threading.Thread(target=lambda: loops.append(executor.run_sync("the_loop")))
    thread.start()
    thread.join()
    loops.append(executor.run_call_sync(ToolCall("c", "the_loop")).value)
    loops.append(executor.run_many_sync([ToolCall("c", "the_loop")])[0].value)
    loops.append(executor.run_plan_sync([Step("s", "the_loop")])["s"].value)
    assert len(loops) == 6
    assert len(set(loops)) == 1


def test_what_one_call_binds_to_the_loop_works_in_the_next():
    """Item 20."""
    gate = asyncio.Semaphore(1)

    @tool
    async def take() -> str:
        # A waiter makes the semaphore belong to the loop that it waits on.
        asyncio.get_running_loop().call_soon(gate.release)
        await gate.acquire()
        await gate.acquire()
        gate.release()
        return "taken"

    assert [executor.run_sync(take), executor.run_sync(take)] == ["taken", "taken"]


def test_run_many_sync_keeps_the_input_order_and_the_limit():
    """Item 24."""
    pauses = [n / 5000 for n in range(20)]
    random.Random(7).shuffle(pauses)  # noqa: S311 - an order of ends that is not the order of the input
    running, seen = set(), []

    @tool
    async def pace(n: int) -> int:
        running.add(n)
        seen.append(len(running))
        await asyncio.sleep(pauses[n])
        running.remove(n)
        return n

    calls = [ToolCall(str(n), "pace", {"n": n}) for n in range(20)]
    results = executor.run_many_sync(calls, registry=Registry([pace]), concurrency=3)
    assert [(r.call_id, r.value) for r in results] == [(str(n), n) for n in range(20)]
    assert (len(seen), max(seen)) == (20, 3)


def test_run_many_sync_stops_at_the_first_failure_only_when_it_is_told_to():
    """Item 25."""
    calls = [ToolCall("a", "fail"), ToolCall("b", "double", {"x": 1})]
    collected = executor.run_many_sync(calls, concurrency=1)
    assert [r.status for r in collected] == ["error", "ok"]
    stopped = executor.run_many_sync(calls, concurrency=1, on_error="fail_fast")
    assert [(r.call_id, r.status) for r in stopped] == [("a", "error"), ("b", "cancelled")]
    with pytest.raises(ToolUsageError, match="'collect' or 'fail_fast'"):
        executor.run_many_sync(calls, on_error="raise")


def test_run_plan_sync_gives_the_results_by_step():
    """Item 156."""
    results = executor.run_plan_sync(
        [Step("a", "double", {"x": 1}), Step("b", "fail"), Step("c", "double", {"x": 2})],
        concurrency=1,
        on_error="fail_fast",
    )
    assert [(name, r.status) for name, r in results.items()] == [
        ("a", "ok"),
        ("b", "error"),
        ("c", "cancelled"),
    ]


def test_a_tool_sees_the_callers_context_variables_and_run_context():
    @tool
    def read(ctx: RunContext) -> tuple[str, str | None]:
        seen = tenant.get()
        tenant.set("changed")
        return seen, ctx.user

    given = RunContext(user="ada")
    token = tenant.set("acme")
    try:
        call = ToolCall("c", "read")
        values = [
            executor.run_sync(read, ctx=given),
            executor.run_call_sync(call, given, registry=Registry([read])).value,
            executor.run_many_sync([call], given, registry=Registry([read]))[0].value,
            executor.run_plan_sync([Step("s", read)], given)["s"].value,
        ]
        assert values == [("acme", "ada")] * 4
        assert tenant.get() == "acme"
    finally:
        tenant.reset(token)


def test_a_call_belongs_to_the_visit_of_the_thread_that_waits_for_it():
    ran = []
    once = tool(name="once")(lambda: ran.append(1))
    journal = make_journal()
    with visit_scope(None, journal):
        executor.run_sync(once)
    with visit_scope(None, make_journal(journal.data())):
        executor.run_sync(once)
    assert ran == [1]
