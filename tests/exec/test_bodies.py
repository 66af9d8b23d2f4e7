"""One body in the executor: timeouts, cancellation, and what nobody can stop."""

import asyncio
import functools
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest

from agent_adapter import (
    Executor,
    Registry,
    ToolCall,
    ToolError,
    ToolTimeout,
    tool,
)
from agent_adapter.exec._body import Ended, end_body
from agent_adapter.exec.integration import make_journal, visit_scope


@tool
def double(x: int) -> int:
    return 2 * x


@tool
async def never() -> None:
    await asyncio.Event().wait()


executor = Executor(Registry([double, never]))


async def test_an_async_tool_out_of_time_is_cancelled_and_has_ended():
    """Item 23."""
    ended = []

    @tool(timeout=0.02)
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    result = await Executor(Registry([slow])).run_call(ToolCall("c", "slow"))
    assert result.error == ToolError(
        "timeout", "TimeoutError", "no result within 0.02 s; it was cancelled"
    )
    assert ended == ["cleaned up"]
    with pytest.raises(ToolTimeout):
        await executor.run(slow)


async def test_a_sync_tool_out_of_time_says_so_and_its_late_end_is_logged(caplog):
    release, logged = threading.Event(), asyncio.Event()

    @tool
    def slow() -> str:
        release.wait()
        return "late"

    loop = asyncio.get_running_loop()

    class Listener(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())
            loop.call_soon_threadsafe(logged.set)

    lines, listener = [], Listener()
    logging.getLogger("agent_adapter").addHandler(listener)
    try:
        result = await Executor(Registry([slow]), timeout=0.02).run_call(ToolCall("c", "slow"))
        release.set()
        await logged.wait()
    finally:
        logging.getLogger("agent_adapter").removeHandler(listener)
    assert result.error == ToolError(
        "timeout", "TimeoutError", "no result within 0.02 s; its thread may still be running"
    )
    assert lines == [
        "tool 'slow' ended after its caller had left: it returned a value, which nobody gets"
    ]


async def test_the_timeout_nearest_to_the_call_counts():
    @tool(timeout=0.02)
    async def slow() -> str:
        await asyncio.sleep(0.05)
        return "done"

    assert await Executor(timeout=0.01).run(slow, timeout=5) == "done"
    with pytest.raises(ToolTimeout, match=r"within 0\.02 s"):
        await Executor(timeout=5).run(slow)
    with pytest.raises(ToolTimeout, match=r"within 0\.01 s"):
        await Executor(timeout=0.01).run(never)


async def test_a_value_that_comes_in_spite_of_the_cancellation_counts():
    @tool(timeout=0.02)
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        return "never"

    assert await executor.run(stubborn) == "done"


async def test_a_sync_wrapper_around_an_async_function_is_awaited_within_the_timeout():
    async def inner(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    @functools.wraps(inner)
    def wrapper(**arguments):
        return inner(**arguments)

    async def stuck() -> None:
        await asyncio.Event().wait()

    def sync() -> Any:
        return stuck()

    assert await executor.run(tool(wrapper), {"x": 1}) == 2
    with pytest.raises(ToolTimeout, match="it was cancelled"):
        await executor.run(tool(sync), timeout=0.02)


async def test_cancelling_the_caller_cancels_an_async_body_and_waits_for_its_end():
    log, running = [], asyncio.Event()

    @tool
    async def long() -> None:
        try:
            running.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("ended")

    task = asyncio.create_task(executor.run(long))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["ended"]


async def test_a_result_known_when_the_cancellation_comes_is_recorded_all_the_same():
    running = asyncio.Event()

    @tool
    async def stubborn() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "charged"
        return "never"

    journal = make_journal()
    with visit_scope(None, journal):
        task = asyncio.create_task(executor.run(stubborn))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(journal.data()["calls"].values()) == [{"value": "charged"}]


async def test_a_result_and_a_cancellation_in_one_instant_lose_nothing():
    """Through the private function: no public act makes both arrive in one turn of the loop for certain."""

    async def rest() -> str:
        raise AssertionError("must not begin")

    for value, kept in (("charged", Ended("charged")), (rest(), None)):
        body = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(end_body(double, body, None))
        await asyncio.sleep(0)
        body.set_result(value)
        task.cancel()
        if kept is None:
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            outcome = await task
            assert replace(outcome, cancelled=None) == kept
            assert isinstance(outcome.cancelled, asyncio.CancelledError)
