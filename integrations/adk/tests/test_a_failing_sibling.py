"""A run that ends because a sibling failed: the other body ends all the same, and its result is there when the run goes on."""

import asyncio

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from google.adk.plugins.base_plugin import BasePlugin


class Failing(BasePlugin):
    """Something else in the app that breaks after a call: not the tool."""

    def __init__(self, before):
        super().__init__(name="failing")
        self._before = before

    async def after_tool_callback(self, *, tool, **_):
        if tool.name == "charge":
            await self._before()
            raise ValueError("broken plugin")


async def test_the_sibling_of_a_failure_is_recorded(oracle, make_chat):
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(x):
        begun.set()
        await go_on.wait()
        return {"slow": x}

    def root():
        tools = oracle.tool("charge"), oracle.tool("slow", slowly)
        return agent(ScriptedModel([ask("charge", "a"), ask("slow", "b")]), *tools)

    chat = make_chat(root(), plugins=(Failing(begun.wait),))
    with pytest.raises(RuntimeError, match="broken plugin"):
        await chat.say()
    go_on.set()

    events = await make_chat(root()).resume()

    assert sorted(oracle.lines) == ["charge:a", "slow:b"]
    assert responses(events) == {"charge": {"did": "charge a"}, "slow": {"slow": "b"}}
