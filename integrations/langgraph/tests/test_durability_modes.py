"""A finished call is stored before the next step may start, in every durability mode; where that cannot be, it is refused."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    durable_app,
    sqlite_saver,
)

from agent_adapter_langgraph import DurableTools, UnstableVisit

TURN = ask(("charge", "5", "c1"))
NAMED = {"configurable": {"thread_id": "thread", "agent_adapter_run": "order-42"}}
FRESH = {"configurable": {"thread_id": "another", "agent_adapter_run": "order-42"}}


class HeldSaver(SqliteSaver):
    """A checkpointer whose writes from the tools' step on never arrive: what a kill finds in flight."""

    # Under "sync" LangGraph waits for checkpoints, and only the task's own writes are in flight.
    holds_checkpoints = True

    def put(self, config: Any, checkpoint: Any, metadata: Any, *rest: Any) -> Any:
        if metadata["step"] >= 2 and self.holds_checkpoints:
            threading.Event().wait()
        return super().put(config, checkpoint, metadata, *rest)

    def put_writes(self, config: Any, writes: Any, *rest: Any) -> None:
        if any(
            getattr(message, "type", "") == "tool"
            for _, value in writes
            for message in _messages(value)
        ):
            threading.Event().wait()
        super().put_writes(config, writes, *rest)


def _messages(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def chat_of(folder: str, *, dies: bool) -> ScriptedChat:
    """A model that leaves a line for each question, and dies with its process at the second one."""
    asked = Oracle(Path(folder, "asked"))

    def first(_: Any) -> Any:
        asked.write("first")
        return TURN

    def second(_: Any) -> Any:
        asked.write("second")
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return ask()

    return ScriptedChat(first, second)


def finish_and_die(way: str, config: dict[str, Any], durability: str, folder: str) -> None:
    """A worker that dies in the turn after a finished call, before LangGraph has stored anything of that call."""
    tools = [Oracle(Path(folder, "effects")).tool("charge")]
    saver: Any = sqlite_saver(Path(folder, "graph.db"), HeldSaver)
    saver.holds_checkpoints = durability != "sync"
    durable = DurableTools(Path(folder, "runs.db"))
    durable_app(way, durable, chat_of(folder, dies=True), tools, saver).invoke(
        GO, config, durability=durability
    )


def finish_and_die_bare(folder: str) -> None:
    tools = [Oracle(Path(folder, "effects")).tool("charge")]
    app = bare_app(
        "agent",
        chat_of(folder, dies=True),
        tools,
        sqlite_saver(Path(folder, "graph.db"), HeldSaver),
    )
    app.invoke(GO, THREAD)


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_call_that_langgraph_had_not_stored_is_answered_from_the_record(
    *, way, durability, tmp_path, in_child, durable, sync_saver, oracle
):
    assert in_child(finish_and_die, way, THREAD, durability, tmp_path) == -signal.SIGKILL
    app = durable_app(
        way, durable, chat_of(tmp_path, dies=False), [oracle.tool("charge")], sync_saver
    )

    done = app.invoke(None, THREAD)

    assert answers(done) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5"]
    assert Oracle(tmp_path / "asked").lines == ["first", "second", "second"]


async def test_exit_is_refused_before_anything_runs(way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("charge")], driver.saver)

    with pytest.raises(UnstableVisit, match="agent_adapter_run"):
        await driver.invoke(app, GO, durability="exit")

    assert oracle.lines == []


@pytest.mark.parametrize("again", [NAMED, FRESH], ids=["same thread", "fresh thread"])
def test_exit_is_safe_for_a_named_run(
    *, way, again, tmp_path, in_child, durable, sync_saver, oracle
):
    assert in_child(finish_and_die, way, NAMED, "exit", tmp_path) == -signal.SIGKILL
    app = durable_app(
        way, durable, chat_of(tmp_path, dies=False), [oracle.tool("charge")], sync_saver
    )

    done = app.invoke(GO, again, durability="exit")

    assert answers(done) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5"]
    assert Oracle(tmp_path / "asked").lines == ["first", "second", "second"]


def test_control_bare_langgraph_forgets_the_finished_call(tmp_path, in_child, sync_saver, oracle):
    assert in_child(finish_and_die_bare, tmp_path) == -signal.SIGKILL
    app = bare_app("agent", chat_of(tmp_path, dies=False), [oracle.tool("charge")], sync_saver)

    app.invoke(None, THREAD)

    assert oracle.lines == ["charge:5", "charge:5"]
