"""A run was stopped in the middle of a turn: `repair` gives every call exactly one answer, and each one is true."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, ask, bare_app, durable_app

from agent_adapter_langgraph import DurableTools

HELLO = {"messages": [HumanMessage("hello?")]}
TURN = ask(("quick", "1", "c0"), ("charge", "5", "c1"))


class Stopped:
    """A run that is cancelled while `charge` is at work; `finish` lets the tool's body end."""

    def __init__(self, oracle: Oracle) -> None:
        self._working = asyncio.Event()
        self._go_on = asyncio.Event()
        self._oracle = oracle

    def tools(self) -> list[Any]:
        async def charge(x: str) -> str:
            self._working.set()
            await self._go_on.wait()
            return "charged"

        return [self._oracle.tool("quick"), self._oracle.tool("charge", charge)]

    async def stop(self, app: Any, durable: DurableTools | None = None) -> None:
        run = asyncio.create_task(app.ainvoke(GO, THREAD))
        await self._working.wait()
        # The record is in a file, and nothing here is told when it is written.
        while durable and "quick 1 done" not in str(await repaired(app, durable)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    def finish(self) -> None:
        self._go_on.set()


def told(messages: list[Any]) -> list[tuple[str, str, str]]:
    return [(m.tool_call_id, m.status, m.text) for m in messages if isinstance(m, ToolMessage)]


async def repaired(app: Any, durable: DurableTools) -> list[Any]:
    return await durable.arepair((await app.aget_state(THREAD)).values, "thread")


async def put_right(app: Any, durable: DurableTools) -> list[Any]:
    """Repair the thread; returns its messages."""
    messages = await repaired(app, durable)
    await app.aupdate_state(
        THREAD, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]}, as_node="model"
    )
    return messages


@pytest.fixture(params=["node", "agent"])
def way(request):
    return request.param


async def test_each_call_is_answered_once_with_what_is_known(way, durable, async_saver, oracle):
    stopped = Stopped(oracle)
    chat = ScriptedChat(TURN)
    app = durable_app(way, durable, chat, stopped.tools(), async_saver)
    await stopped.stop(app, durable)

    messages = await put_right(app, durable)
    await app.ainvoke(HELLO, THREAD)
    stopped.finish()

    quick, charge = sorted(told(messages))
    assert quick == ("c0", "success", "quick 1 done")
    assert charge[:2] == ("c1", "error")
    assert "unknown" in charge[2]
    assert sorted(told(chat.seen[-1])) == [quick, charge]
    assert sorted(oracle.lines) == ["charge:5", "quick:1"]


async def test_an_agent_may_repair_what_its_model_is_shown(durable, async_saver, oracle):
    stopped = Stopped(oracle)
    chat = ScriptedChat(TURN)
    app = create_agent(
        chat, stopped.tools(), middleware=durable.middleware(repair=True), checkpointer=async_saver
    )
    await stopped.stop(app, durable)

    await app.ainvoke(HELLO, THREAD)
    stopped.finish()

    quick, charge = sorted(told(chat.seen[-1]))
    assert quick == ("c0", "success", "quick 1 done")
    assert charge[:2] == ("c1", "error")
    assert "unknown" in charge[2]
    assert sorted(oracle.lines) == ["charge:5", "quick:1"]


async def test_a_call_that_went_on_to_its_end_has_its_real_result(
    way, durable, async_saver, oracle
):
    stopped = Stopped(oracle)
    app = durable_app(way, durable, ScriptedChat(TURN), stopped.tools(), async_saver)
    await stopped.stop(app, durable)

    stopped.finish()
    # Entering the stopped turn again waits for the body that is still at work.
    await app.ainvoke(None, THREAD)
    messages = await repaired(app, durable)

    assert sorted(told(messages)) == [
        ("c0", "success", "quick 1 done"),
        ("c1", "success", "charged"),
    ]
    assert sorted(oracle.lines) == ["charge:5", "quick:1"]


async def test_a_call_that_never_started_says_so(durable):
    history = [
        HumanMessage("go"),
        AIMessage("", id="m1", tool_calls=ask(("charge", "5", "c1")).tool_calls),
    ]

    once = await durable.arepair(history, "thread")
    twice = await durable.arepair(once, "thread")

    ((call, status, text),) = told(once)
    assert (call, status) == ("c1", "error")
    assert "never started" in text
    assert twice == once


async def test_a_later_turn_with_the_same_call_id_is_answered_too(durable):
    first, second = (
        ask(("charge", each, "call_0")).model_copy(update={"id": each}) for each in "56"
    )
    history = [HumanMessage("go"), first, ToolMessage("charged 5", tool_call_id="call_0"), second]

    messages = await durable.arepair(history, "thread")

    assert [message.type for message in messages] == ["human", "ai", "tool", "ai", "tool"]


async def test_a_later_turns_own_answer_is_kept(durable):
    first, second = (
        ask(("charge", each, "call_0")).model_copy(update={"id": each}) for each in "56"
    )
    answered = [ToolMessage(f"charged {each}", tool_call_id="call_0") for each in "56"]
    history = [HumanMessage("go"), first, answered[0], second, answered[1]]

    assert await durable.arepair(history, "thread") == history


async def test_control_bare_langgraph_sends_unanswered_calls_to_the_model(async_saver, oracle):
    stopped = Stopped(oracle)
    chat = ScriptedChat(TURN)
    app = bare_app("node", chat, stopped.tools(), async_saver)
    await stopped.stop(app)

    await app.ainvoke(HELLO, THREAD)
    stopped.finish()

    assert told(chat.seen[-1]) == []
