"""Sync tools of a loop: their threads go on when nobody waits for them any more, and nobody may think that they are dead."""

import asyncio
import threading

import pytest
from tests.exec.loop_kit import Lab, said

from agent_adapter import RecoveryNeedsDecision, ToolCall, tool
from agent_adapter.exec import DidNotHappen, Happened
from agent_adapter.exec.checkpoints import idempotency_key


class Slow:
    """A sync tool whose first body waits until it is told to go on."""

    def __init__(self, lab, **policy):
        self.begun, self.go, self.ended = (threading.Event() for _ in range(3))
        self.keys = []

        @tool(name="slow", **policy)
        def slow() -> str:
            self.keys.append(idempotency_key())
            if len(self.keys) == 1:
                self.begun.set()
                self.go.wait(20)
                self.ended.set()
            return "slow"

        lab.tools.add(slow)
        lab.play([ToolCall("a", "slow")], "done")


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def cancelled(lab, slow):
    """A loop that was cancelled while the tool's thread is inside."""
    running = asyncio.create_task(lab.run())
    await asyncio.to_thread(slow.begun.wait)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


async def test_a_sync_tool_sees_its_key_and_its_result_is_told(lab):
    """Item 112"""
    slow = Slow(lab)
    slow.go.set()
    assert said(await lab.run())[2] == ("tool", "slow")
    assert None not in slow.keys


async def test_a_cancelled_call_is_in_doubt_until_its_thread_ends_with_the_result(lab):
    """Item 104"""
    slow = Slow(lab)
    await cancelled(lab, slow)
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover()
    [call] = raised.value.calls
    assert (call.tool, [call.idempotency_key]) == ("slow", slow.keys)
    recovering = asyncio.create_task(lab.recover(decisions={call.question_id: Happened("hand")}))
    slow.go.set()
    assert (said(await recovering)[2], len(slow.keys)) == (("tool", "slow"), 1)


async def test_a_worker_whose_thread_still_runs_is_not_known_to_be_dead(lab):
    """Item 86"""
    slow = Slow(lab)
    await cancelled(lab, slow)
    try:
        with pytest.raises(RecoveryNeedsDecision) as raised:
            await lab.recover()
        assert [call.owner_known_dead for call in raised.value.calls] == [False]
    finally:
        slow.go.set()


async def test_that_it_did_not_happen_yet_runs_nothing_beside_a_thread_that_still_runs(lab):
    slow = Slow(lab, reconcile=lambda arguments, key: DidNotHappen())
    await cancelled(lab, slow)
    try:
        with pytest.raises(RecoveryNeedsDecision):
            await lab.recover()
        assert len(slow.keys) == 1
    finally:
        slow.go.set()
