"""What a stream shows of a call that is answered from the record: nothing a second time, or one mark that says so."""

import asyncio
from typing import Any

from langgraph.config import get_stream_writer
from langgraph.types import Command, interrupt
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, ask, bare_app, durable_app

TURN = ask(("quick", "1", "c1"), ("confirm", "ship", "c2"))
RESUME = Command(resume="yes")
MODES = ["custom", "tools", "updates"]


def tools_of(oracle: Oracle) -> list[Any]:
    def quick(x: str) -> str:
        get_stream_writer()({"progress": x})
        return "quick done"

    return [oracle.tool("quick", quick), oracle.tool("confirm", lambda x: str(interrupt(x)))]


async def streamed(driver: Any, app: Any, given: Any) -> dict[str, list[Any]]:
    """What each stream said of the call c1."""
    if driver.kind == "async":
        chunks = [chunk async for chunk in app.astream(given, THREAD, stream_mode=MODES)]
    else:
        chunks = await asyncio.to_thread(lambda: list(app.stream(given, THREAD, stream_mode=MODES)))
    said: dict[str, list[Any]] = {mode: [] for mode in MODES}
    for mode, chunk in chunks:
        if mode == "custom":
            said[mode].append(chunk)
        elif mode == "tools" and chunk["tool_call_id"] == "c1":
            said[mode].append(chunk["event"])
        elif mode == "updates":
            said[mode] += [
                m.text for m in messages_in(chunk) if getattr(m, "tool_call_id", "") == "c1"
            ]
    return said


def messages_in(chunk: Any) -> list[Any]:
    updates = [each for each in chunk.values() if isinstance(each, dict)]
    return [message for update in updates for message in update.get("messages", [])]


async def test_a_replayed_call_says_nothing_again(way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), tools_of(oracle), driver.saver)

    first = await streamed(driver, app, GO)
    second = await streamed(driver, app, RESUME)

    assert first["custom"] == [{"progress": "1"}]
    assert second["custom"] == []
    assert second["tools"] == []
    assert "tool-started" in first["tools"]


async def test_its_message_arrives_once_from_a_tool_node(driver, durable, oracle):
    app = durable_app("node", durable, ScriptedChat(TURN), tools_of(oracle), driver.saver)

    said = [await streamed(driver, app, given) for given in (GO, RESUME)]

    assert [each["updates"] for each in said] == [[], ["quick done"]]


async def test_a_mark_says_that_it_was_replayed(driver, make_durable, oracle):
    durable = make_durable(streaming="mark")
    app = durable_app("node", durable, ScriptedChat(TURN), tools_of(oracle), driver.saver)

    await streamed(driver, app, GO)
    second = await streamed(driver, app, RESUME)

    assert second["custom"] == [{"type": "tool_replayed", "tool_call_id": "c1", "name": "quick"}]
    assert second["tools"] == []


async def test_control_the_bare_tool_node_says_everything_twice(driver, oracle):
    app = bare_app("node", ScriptedChat(TURN), tools_of(oracle), driver.saver)

    said = [await streamed(driver, app, given) for given in (GO, RESUME)]

    assert [each["custom"] for each in said] == [[{"progress": "1"}]] * 2
