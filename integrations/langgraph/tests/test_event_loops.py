"""One store under several event loops: what works runs once, and what cannot work fails before the effect."""

import asyncio
from typing import Any

import aiosqlite
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, durable_app

from agent_adapter_langgraph import UnstableVisit

TURN = ask(("charge", "5", "c1"))


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def charging(oracle: Oracle) -> list[Any]:
    async def charge(x: str) -> str:
        return "charged"

    return [oracle.tool("charge", charge)]


def test_each_request_may_have_a_loop_of_its_own(way, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), charging(oracle), InMemorySaver())

    done = [asyncio.run(app.ainvoke(GO, thread(name))) for name in ("one", "two")]

    assert [answers(each) for each in done] == [{"c1": "charged"}] * 2
    assert oracle.lines == ["charge:5"] * 2


def test_a_checkpointer_of_another_loop_fails_before_the_effect(way, durable, oracle, tmp_path):
    held: list[AsyncSqliteSaver] = []

    async def request(name: str) -> Any:
        if not held:
            held.append(AsyncSqliteSaver(await aiosqlite.connect(tmp_path / "graph.db")))
        app = durable_app(way, durable, ScriptedChat(TURN), charging(oracle), held[0])
        return await asyncio.wait_for(app.ainvoke(GO, thread(name)), 10)

    try:
        asyncio.run(request("one"))
        # Whichever of them notices first: the checkpointer, or our barrier that waits for it.
        with pytest.raises((RuntimeError, UnstableVisit), match="loop"):
            asyncio.run(request("two"))
    finally:
        asyncio.run(held[0].conn.close())

    assert oracle.lines == ["charge:5"]


async def test_a_sync_call_on_the_checkpointers_loop_fails_before_the_effect(
    way, durable, async_saver, oracle
):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], async_saver)

    with pytest.raises(asyncio.InvalidStateError):
        app.invoke(GO, thread("one"))

    assert oracle.lines == []
