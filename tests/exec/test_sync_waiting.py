"""Waiting for a sync twin: timeouts, interrupts, forks, and callers that run on a loop already (items 18 to 22)."""

import asyncio
import os
import signal
import threading
import time

import pytest

from agent_adapter import Executor, Registry, ToolCall, ToolFailed, ToolUsageError, tool
from agent_adapter.exec import Step


@tool
def double(x: int) -> int:
    return 2 * x


class Long:
    """A tool of five seconds; how it ended."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.ended: list[str] = []

        @tool
        async def long() -> str:
            try:
                self.running.set()
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                raise
            return "done"

        self.executor = Executor(Registry([long, double]))


ENTRIES = {
    "run_sync": lambda executor, **more: executor.run_sync("long", **more),
    "run_call_sync": lambda executor, **more: executor.run_call_sync(ToolCall("c", "long"), **more),
    "run_many_sync": lambda executor, **more: executor.run_many_sync(
        [ToolCall("c", "long")], **more
    ),
    "run_plan_sync": lambda executor, **more: executor.run_plan_sync([Step("s", "long")], **more),
}
entry = pytest.mark.parametrize("enter", ENTRIES.values(), ids=ENTRIES)


@entry
def test_work_that_is_out_of_time_is_cancelled_and_has_ended_when_the_error_comes(enter):
    """Item 18."""
    long = Long()
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        enter(long.executor, timeout=0.2)
    assert time.monotonic() - began < 1
    assert long.ended == ["cancelled"]


@entry
def test_a_timeout_that_is_no_number_of_seconds_is_refused_and_nothing_runs(enter):
    long = Long()
    with pytest.raises(ToolUsageError, match="positive number"):
        enter(long.executor, timeout=0)
    assert not long.running.is_set()


@entry
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_tool_on_the_shared_loop_cannot_wait_for_it_and_does_not_hang(enter, kind):
    """Item 19: also from the thread of a sync tool."""
    long = Long()

    def body() -> None:
        enter(long.executor)

    async def async_body() -> None:
        body()

    nested = tool(name="nested")(body if kind == "sync" else async_body)
    with pytest.raises(ToolFailed, match="await the coroutine instead") as caught:
        long.executor.run_sync(nested, timeout=10)
    assert type(caught.value.__cause__) is ToolUsageError
    assert not long.running.is_set()


def test_a_tool_that_another_loop_runs_may_wait_for_the_shared_one():
    @tool
    def nested() -> int:
        return Executor().run_sync(double, {"x": 2})

    assert asyncio.run(Executor().run(nested)) == 4


async def test_it_works_inside_a_foreign_running_loop():
    """Item 21."""
    assert Executor().run_sync(double, {"x": 2}, timeout=10) == 4


def test_a_forked_child_can_use_it_and_so_can_the_parent_afterwards():
    """Item 22."""
    executor = Executor(Registry([double]))
    assert executor.run_sync("double", {"x": 1}) == 2
    child = os.fork()
    if child == 0:
        try:
            right = executor.run_sync("double", {"x": 2}, timeout=10) == 4
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert executor.run_sync("double", {"x": 3}, timeout=10) == 6


def test_an_interrupt_of_the_waiting_thread_cancels_the_work():
    """Ctrl-C ends what the caller waits for, and the loop goes on."""
    long = Long()

    def interrupt() -> None:
        long.running.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    # A job in the background is started with the signal ignored.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            long.executor.run_sync("long")
    finally:
        signal.signal(signal.SIGINT, previous)
    sender.join()
    assert long.ended == ["cancelled"]
    assert long.executor.run_sync("double", {"x": 1}) == 2
