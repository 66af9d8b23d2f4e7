"""Worker threads of sync tools: reuse, StopIteration, and loops that are gone."""

import asyncio
import threading

import pytest

from agent_adapter import _threads
from agent_adapter._threads import run_in_thread


async def test_a_thread_that_is_free_is_used_again():
    first = await run_in_thread(threading.get_ident)
    assert await run_in_thread(threading.get_ident) == first


async def test_bodies_that_run_at_once_have_a_thread_each():
    barrier = threading.Barrier(40, timeout=10)
    await asyncio.gather(*(run_in_thread(barrier.wait) for _ in range(40)))


async def test_stop_iteration_reaches_the_caller_as_an_error():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await run_in_thread(lambda: next(iter(())))


def test_a_body_may_outlive_its_loop():
    release, ended = threading.Event(), threading.Event()

    def body() -> None:
        release.wait()
        ended.set()

    async def leave() -> None:
        run_in_thread(body)

    asyncio.run(leave())
    release.set()
    assert ended.wait(10)


async def test_a_thread_that_nobody_needs_ends(monkeypatch):
    monkeypatch.setattr(_threads, "_KEPT_S", 0.01)
    monkeypatch.setattr(_threads, "_idle", [])
    thread = await run_in_thread(threading.current_thread)
    thread.join(10)
    assert not thread.is_alive()
    assert await run_in_thread(lambda: "ran") == "ran"
