"""gather_unwrapped, item 143."""

import asyncio
import random

import pytest

from agent_adapter import ToolUsageError
from agent_adapter.exec.integration import gather_unwrapped


def number(n: int, log: list[str] | None = None, turns: int = 0):
    async def work() -> int:
        if log is not None:
            log.append(f"start {n}")
        for _ in range(turns):
            await asyncio.sleep(0)
        return n

    return work


@pytest.mark.parametrize("concurrency", [None, 1, 3, 50])
async def test_starts_and_results_keep_the_input_order(concurrency):
    rng, log = random.Random(1), []  # noqa: S311 - latencies
    factories = [number(n, log, rng.randrange(9)) for n in range(20)]
    assert await gather_unwrapped(factories, concurrency) == list(range(20))
    assert log == [f"start {n}" for n in range(20)]


async def test_no_more_than_the_limit_run_at_once():
    running = peak = 0

    async def work() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1

    await gather_unwrapped([work] * 10, 3)
    assert peak == 3


async def test_an_empty_list_gives_an_empty_list():
    assert await gather_unwrapped([]) == []


@pytest.mark.parametrize("concurrency", [0, -1, True, 1.5, "2"])
async def test_a_limit_that_is_no_number_from_one_is_refused(concurrency):
    with pytest.raises(ToolUsageError, match="number from 1"):
        await gather_unwrapped([number(1)], concurrency)


@pytest.mark.parametrize(
    "error", [ValueError("first"), asyncio.CancelledError("own"), SystemExit(3)]
)
async def test_the_first_exception_is_raised_itself_after_the_others_have_ended(error):
    log = []

    async def fail() -> None:
        await asyncio.sleep(0)
        raise error

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            log.append("ended")
            raise ValueError("second") from None

    with pytest.raises(type(error)) as caught:
        await gather_unwrapped([long, fail, long, number(3, log)], 3)
    assert caught.value is error
    assert log == ["ended", "ended"]


async def test_cancelling_the_caller_cancels_all_and_waits_for_their_end():
    log = []

    async def long() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("ended")

    task = asyncio.create_task(gather_unwrapped([long, long]))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["ended", "ended"]
