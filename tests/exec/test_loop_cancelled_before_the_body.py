"""A run that is cancelled between the record that a body begins and the body: the call is not in doubt, it never began."""

import asyncio

import pytest
from tests.exec.loop_kit import Lab, ask, said

from agent_adapter import Executor


async def either(running, reached) -> None:
    """Wait until the run has come there."""
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    assert not running.done(), running.exception()


async def arrive() -> None:
    """Let a cancellation arrive."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def lab(store) -> Lab:
    lab = Lab(store)
    lab.without("mail")
    lab.play([ask("charge", cents=5)], "done")
    return lab


async def runs_once_more(lab) -> None:
    result = await lab.recover()
    assert said(result)[2] == ("tool", "charged 5")
    assert lab.ran == [("charge", 5)]


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_cancelled_while_it_is_stored_that_the_body_begins(lab, times):
    """Item 104: however often it is cancelled."""
    reached, opened = asyncio.Event(), asyncio.Event()

    async def before(what: str) -> None:
        if what == "claim started":
            reached.set()
            await opened.wait()

    lab.tape.before = before
    running = asyncio.create_task(lab.run())
    await either(running, reached)
    for _ in range(times):
        running.cancel()
        await arrive()
    opened.set()
    await asyncio.wait([running])
    lab.tape.before = None
    assert (running.cancelled(), lab.ran) == (True, [])
    await runs_once_more(lab)


class Stuck:
    """A hook that does not come back before it is cancelled."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def before(self, call, ctx) -> None:
        self.reached.set()
        await asyncio.Event().wait()


async def test_cancelled_in_a_hook_before_the_body(lab):
    """Item 104."""
    hook = Stuck()
    running = asyncio.create_task(lab.run(executor=Executor(hooks=[hook])))
    await either(running, hook.reached)
    running.cancel()
    await asyncio.wait([running])
    assert (running.cancelled(), lab.ran) == (True, [])
    await runs_once_more(lab)


async def test_cancelled_in_a_sink_that_is_told_of_the_start(lab):
    """Item 104."""
    reached = asyncio.Event()

    async def sink(event) -> None:
        if type(event).__name__ == "ToolStarted":
            reached.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(lab.run(executor=Executor(sinks=[sink])))
    await either(running, reached)
    running.cancel()
    await asyncio.wait([running])
    assert (running.cancelled(), lab.ran) == (True, [])
    await runs_once_more(lab)
