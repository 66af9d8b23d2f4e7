"""Runs that nobody reads to their end: a body that was begun ends and is recorded, and the invocation goes on later."""

import asyncio

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Ended

TURN = [ask("charge", "a"), ask("slow", "b")]


class Slow:
    """A body that ends when it is told to."""

    def __init__(self, oracle):
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.tool = oracle.tool("slow", self._run)

    async def _run(self, x):
        self.begun.set()
        await self.go_on.wait()
        return {"slow": x}


def has_calls(event):
    return bool(event.get_function_calls())


async def test_a_consumer_that_stops_before_the_calls_leaves_them_to_the_next(oracle, make_chat):
    chat = make_chat(agent(ScriptedModel(TURN), oracle.tool("charge"), oracle.tool("slow")))
    await chat.say(until=has_calls)
    done = await chat.resume()
    assert responses(done) == {"charge": {"did": "charge a"}, "slow": {"did": "slow b"}}
    assert sorted(oracle.lines) == ["charge:a", "slow:b"]


@pytest.mark.parametrize("same_process", [True, False], ids=["same worker", "next worker"])
async def test_a_cancelled_run_leaves_its_body_running(
    *, oracle, make_chat, make_durable, same_process
):
    slow, ended = Slow(oracle), Ended()
    tools = oracle.tool("charge"), slow.tool
    chat = make_chat(agent(ScriptedModel(TURN), *tools), plugins=(ended,))
    task = asyncio.create_task(chat.say())
    await slow.begun.wait()
    await ended.wait("charge:a")
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()

    slow.go_on.set()
    if not same_process:
        await chat.runner.close()
    next_durable = chat.durable if same_process else make_durable()
    root = agent(ScriptedModel(TURN), oracle.tool("charge"), oracle.tool("slow"))
    events = await make_chat(root, with_=next_durable).resume()

    assert sorted(oracle.lines) == ["charge:a", "slow:b"]
    assert responses(events) == {"charge": {"did": "charge a"}, "slow": {"slow": "b"}}


async def test_closing_the_runner_waits_for_the_body(oracle, make_chat):
    slow = Slow(oracle)
    chat = make_chat(agent(ScriptedModel([ask("slow", "b")]), slow.tool))
    task = asyncio.create_task(chat.say())
    await slow.begun.wait()
    task.cancel()
    await asyncio.wait([task])

    closing = asyncio.create_task(chat.runner.close())
    slow.go_on.set()
    await closing

    later = make_chat(agent(ScriptedModel([ask("slow", "b")]), oracle.tool("slow")))
    assert responses(await later.resume()) == {"slow": {"slow": "b"}}
    assert oracle.lines == ["slow:b"]
