"""LoopRunner: one loop for sync callers; timeouts, interrupts, forks, and calls from the loop itself."""

import asyncio
import contextvars
import os
import signal
import threading
import time

import pytest

from agent_adapter import ToolUsageError
from agent_adapter._threads import run_in_thread
from agent_adapter.runtime import LoopRunner, shared

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")


@pytest.fixture
def runner():
    made = LoopRunner()
    yield made
    made.close()


async def the_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_calls_from_any_thread_run_on_one_loop(runner):
    """Item 20."""
    loops = [runner.run(the_loop())]
    thread = threading.Thread(target=lambda: loops.append(runner.run(the_loop())))
    thread.start()
    thread.join()
    loops.append(runner.run(the_loop()))
    assert len(set(loops)) == 1
    assert len(loops) == 3


def test_what_one_call_binds_to_the_loop_works_in_the_next(runner):
    """Item 20."""

    async def make() -> asyncio.Semaphore:
        return asyncio.Semaphore(0)

    semaphore = runner.run(make())

    async def release_and_take() -> str:
        asyncio.get_running_loop().call_soon(semaphore.release)
        await semaphore.acquire()
        return "taken"

    assert runner.run(release_and_take()) == "taken"


def test_the_work_sees_the_callers_context_and_cannot_change_it(runner):
    async def read_and_write() -> str:
        seen = tenant.get()
        tenant.set("changed")
        return seen

    token = tenant.set("acme")
    try:
        assert runner.run(read_and_write()) == "acme"
        assert tenant.get() == "acme"
    finally:
        tenant.reset(token)


def test_an_error_of_the_work_is_raised_itself(runner):
    error = ValueError("x")

    async def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="x") as caught:
        runner.run(fail())
    assert caught.value is error


def test_work_that_is_out_of_time_is_cancelled_and_has_ended_when_the_error_comes(runner):
    """Item 18."""
    ended = []

    async def long() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        runner.run(long(), timeout=0.05)
    assert ended == ["cleaned up"]
    assert time.monotonic() - began < 1


def test_a_result_that_comes_after_all_is_not_thrown_away(runner):
    async def stubborn() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return "done"
        return "never"

    assert runner.run(stubborn(), timeout=0.05) == "done"


@pytest.mark.parametrize("timeout", [0, -1, True, float("nan"), "1"])
def test_a_timeout_that_is_no_number_of_seconds_is_refused(runner, timeout):
    with pytest.raises(ToolUsageError, match="positive number"):
        runner.run(the_loop(), timeout=timeout)


def test_calling_from_the_loop_itself_is_refused_and_does_not_hang(runner):
    """Item 19."""

    async def nested() -> None:
        runner.run(the_loop())

    with pytest.raises(ToolUsageError, match="await the coroutine instead"):
        runner.run(nested())


def test_calling_from_a_worker_thread_of_the_loop_is_refused_and_does_not_hang(runner):
    """Item 19."""

    async def nested() -> None:
        await run_in_thread(lambda: runner.run(the_loop()))

    with pytest.raises(ToolUsageError, match="await the coroutine instead"):
        runner.run(nested())


def test_work_on_one_runner_may_wait_for_another(runner):
    other = LoopRunner()

    async def nested() -> bool:
        return await run_in_thread(lambda: other.run(the_loop())) is asyncio.get_running_loop()

    assert runner.run(nested()) is False
    other.close()


async def test_it_works_inside_a_foreign_running_loop(runner):
    """Item 21."""
    assert runner.run(the_loop()) is not asyncio.get_running_loop()


def test_an_interrupt_cancels_the_work_and_waits_for_its_end(runner):
    ended = threading.Event()
    running = threading.Event()

    async def long() -> None:
        try:
            running.set()
            await asyncio.sleep(20)
        finally:
            await asyncio.sleep(0)
            ended.set()

    def interrupt() -> None:
        running.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    # A job in the background is started with the signal ignored.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            runner.run(long())
    finally:
        signal.signal(signal.SIGINT, previous)
    assert ended.is_set()
    sender.join()


def test_work_that_exits_reaches_its_caller_and_the_loop_goes_on(runner):
    async def leave() -> None:
        raise SystemExit(3)

    before = runner.run(the_loop())
    with pytest.raises(SystemExit):
        runner.run(leave())
    assert runner.run(the_loop()) is before


def test_a_forked_child_gets_a_fresh_loop_and_the_parent_keeps_its_own(runner):
    """Item 22."""
    before = runner.run(the_loop())
    child = os.fork()
    if child == 0:
        try:
            fresh = runner.run(the_loop(), timeout=10) is not before
            threaded = runner.run(in_thread(), timeout=10) == "ran"
            os._exit(0 if fresh and threaded else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert runner.run(the_loop(), timeout=10) is before


async def in_thread() -> str:
    return await run_in_thread(lambda: "ran")


def test_the_shared_runner_is_one_for_the_process():
    assert shared() is shared()
    assert shared().run(in_thread()) == "ran"


def test_closing_ends_what_is_left_and_the_next_run_starts_anew(runner):
    ended = []

    async def leave_a_task_behind() -> asyncio.AbstractEventLoop:
        async def forever() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("task")

        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        keep.append(task)
        return asyncio.get_running_loop()

    keep: list[asyncio.Task[None]] = []
    first = runner.run(leave_a_task_behind())
    runner.close()
    assert ended == ["task"]
    assert first.is_closed()
    assert runner.run(the_loop()) is not first
