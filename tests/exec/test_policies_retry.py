"""Retries: only calls that can do no harm twice are tried again (items 10 and 153)."""

import asyncio
import random
import threading

import pytest

from agent_adapter import (
    CheckpointConflict,
    Executor,
    Registry,
    RunLimitExceeded,
    ToolCall,
    ToolResult,
    tool,
)
from agent_adapter import _threads as threads
from agent_adapter.exec import Backoff, register_control_flow
from agent_adapter.exec.integration import make_journal, visit_scope


class Pause(Exception):
    pass


register_control_flow(Pause)

AT_ONCE = Backoff(initial=0)


class Flaky:
    """A body that raises what it is given, one after the other, and then returns."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.runs = 0

    async def call(self, *, retry: int | None = 3, **policy) -> ToolResult:
        @tool(**policy)
        def flaky() -> str:
            self.runs += 1
            if self.errors:
                raise self.errors.pop(0)
            return "done"

        executor = Executor(Registry([flaky]), retry=retry, backoff=AT_ONCE)
        return await executor.run_call(ToolCall("c", "flaky"))


@pytest.mark.parametrize("policy", [{"idempotent": True}, {"read_only": True}], ids=str)
async def test_a_harmless_tool_is_tried_again_until_it_works(policy):
    """Item 153."""
    flaky = Flaky(ValueError("1"), ValueError("2"))
    result = await flaky.call(**policy)
    assert (result.value, result.attempts, flaky.runs) == ("done", 3, 3)


async def test_after_the_last_attempt_its_own_error_is_the_result():
    flaky = Flaky(*[ValueError(str(n)) for n in range(5)])
    result = await flaky.call(idempotent=True, retry=2)
    assert (result.error.message, result.attempts, flaky.runs) == ("1", 2, 2)


async def test_any_other_tool_runs_once_whatever_the_executor_says():
    """Item 153: the effect may have happened."""
    flaky = Flaky(ValueError("no"))
    result = await flaky.call(retry=3)
    assert (result.status, result.attempts, flaky.runs) == ("error", 1, 1)


async def test_one_attempt_is_the_default():
    flaky = Flaky(ValueError("no"))
    assert (await flaky.call(idempotent=True, retry=None)).attempts == 1


@pytest.mark.parametrize(("own", "executors", "runs"), [(2, 3, 2), (1, 3, 1), (3, None, 3)])
async def test_the_tools_own_number_counts_before_the_executors(own, executors, runs):
    ran = []

    @tool(idempotent=True, retry=own)
    def fail() -> None:
        ran.append(1)
        raise ValueError

    executor = Executor(Registry([fail]), retry=executors, backoff=AT_ONCE)
    await executor.run_call(ToolCall("c", "fail"))
    assert len(ran) == runs


async def test_an_error_that_proves_that_nothing_happened_is_tried_again_and_no_other():
    """Item 153."""
    flaky = Flaky(ConnectionRefusedError(), ConnectionResetError())
    result = await flaky.call(did_not_happen=(ConnectionRefusedError,), retry=5)
    assert (result.error.type, result.attempts) == ("ConnectionResetError", 2)


async def test_a_body_that_never_began_is_tried_again(monkeypatch):
    """Item 153: the system gave no thread, so not even the first line ran."""
    ran, refusals = [], [RuntimeError("can't start new thread")]
    start = threading.Thread.start

    def refuse(thread):
        if thread.name == "agent-adapter-tool" and refusals:
            raise refusals.pop()
        start(thread)

    @tool
    def charge() -> str:
        ran.append(1)
        return "charged"

    monkeypatch.setattr(threads, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    result = await Executor(Registry([charge]), retry=2, backoff=AT_ONCE).run_call(
        ToolCall("c", "charge")
    )
    assert (result.value, result.attempts, ran) == ("charged", 1, [1])


@pytest.mark.parametrize("policy", [{}, {"did_not_happen": (OSError,)}], ids=str)
async def test_a_sync_tool_out_of_time_may_still_run_and_is_not_started_again(policy):
    """Item 153; a TimeoutError is an OSError, but that a call was given up proves nothing about its effect."""
    release, started = threading.Event(), []

    @tool(timeout=0.02, **policy)
    def charge() -> None:
        started.append(1)
        release.wait(10)

    try:
        result = await Executor(Registry([charge]), retry=3, backoff=AT_ONCE).run_call(
            ToolCall("c", "charge")
        )
    finally:
        release.set()
    assert (result.error.kind, result.attempts, started) == ("timeout", 1, [1])


async def test_each_attempt_of_an_idempotent_tool_has_its_own_time():
    tries = []

    @tool(timeout=0.02, idempotent=True)
    async def slow() -> str:
        tries.append(1)
        if len(tries) < 3:
            await asyncio.Event().wait()
        return "done"

    result = await Executor(Registry([slow]), retry=3, backoff=AT_ONCE).run_call(
        ToolCall("c", "slow")
    )
    assert (result.value, result.attempts) == ("done", 3)


@pytest.mark.parametrize(
    "error",
    [
        Pause(),
        CheckpointConflict("run", "taken over"),
        RunLimitExceeded("max_tokens"),
        SystemExit(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_is_no_failure_is_never_tried_again(error):
    """Item 10: control flow escapes after one attempt, and so does everything else that is no result."""
    flaky = Flaky(error)
    with pytest.raises(type(error)):
        await flaky.call(idempotent=True, did_not_happen=(BaseException,))
    assert flaky.runs == 1


async def test_the_delays_are_the_backoffs():
    events = []
    backoff = Backoff(initial=0.001, jitter=1)
    flaky = Flaky(ValueError(), ValueError())

    @tool(idempotent=True)
    def body() -> None:
        flaky.runs += 1
        if flaky.errors:
            raise flaky.errors.pop()

    executor = Executor(
        Registry([body]),
        retry=3,
        backoff=backoff,
        rng=random.Random(5),  # noqa: S311 - spreads retries
        sinks=(events.append,),
    )
    await executor.run_call(ToolCall("c", "body"))
    chance = random.Random(5)  # noqa: S311 - spreads retries
    delays = [event.delay_s for event in events if hasattr(event, "delay_s")]
    assert delays == [backoff.delay(1, chance), backoff.delay(2, chance)]


async def test_what_an_attempt_finished_inside_itself_is_replayed_in_the_next():
    ran = []

    @tool
    async def charge(x: int) -> int:
        ran.append(x)
        return x

    @tool(idempotent=True)
    async def outer() -> int:
        first = await executor.run("charge", {"x": 1})
        if len(ran) == 1 and not failed:
            failed.append(1)
            raise ValueError
        return first + await executor.run("charge", {"x": 2})

    failed: list[int] = []
    executor = Executor(Registry([charge, outer]), retry=2, backoff=AT_ONCE)
    with visit_scope(None, make_journal()):
        assert await executor.run("outer") == 3
    assert ran == [1, 2]


async def test_a_cancellation_ends_the_waiting_for_the_next_attempt():
    tried = asyncio.Event()

    @tool(idempotent=True)
    async def fail() -> None:
        tried.set()
        raise ValueError

    executor = Executor(Registry([fail]), retry=2, backoff=Backoff(initial=30, jitter=0))
    task = asyncio.create_task(executor.run("fail"))
    await tried.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
