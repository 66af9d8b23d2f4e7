"""Closing waits for bodies that go on although their run has ended: in tools, in steps of nodes, and with plugin.close()."""

import asyncio

import pytest
from adk_kit import ScriptedModel, agent, ask
from adk_steps import graph, outputs


@pytest.fixture
def slow(oracle):
    """A function that ends when it is told to, and the means to tell it."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def then(x):
        begun.set()
        await go_on.wait()
        oracle.write(f"ended:{x}")
        return {"slow": x}

    return oracle.function("slow", then), begun, go_on


def stepping(durable, function):
    @durable.node
    async def settle(ctx) -> dict[str, str]:
        """Settle."""
        return await durable.step(ctx, function, "a")

    return graph(settle)


async def left_running(chat, begun):
    task = asyncio.create_task(chat.say())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])


async def test_the_plugin_waits_for_a_tool(slow, durable, make_chat, oracle):
    function, begun, go_on = slow
    plugin = durable.plugin("second")
    await left_running(make_chat(agent(ScriptedModel([ask("slow", "a")]), function)), begun)

    closing = asyncio.create_task(plugin.close())
    go_on.set()
    await closing

    assert oracle.lines == ["slow:a", "ended:a"]


async def test_the_runner_waits_for_a_step(slow, durable, make_chat, oracle):
    function, begun, go_on = slow
    chat = make_chat(stepping(durable, function))
    await left_running(chat, begun)

    closing = asyncio.create_task(chat.runner.close())
    go_on.set()
    await closing
    events = await make_chat(stepping(durable, function)).resume()

    assert outputs(events) == [{"slow": "a"}]
    assert oracle.lines == ["slow:a", "ended:a"]


async def test_closing_with_nothing_left_is_at_once(durable):
    await durable.plugin().close()
