"""Our own store stays locked longer than it waits: before the effect nothing runs, after it a person is asked."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, causes, durable_app, interrupts

from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter_langgraph import DurableTools

CHAT = ScriptedChat(ask(("charge", "5", "c1")))


@pytest.fixture
def durable(tmp_path):
    return DurableTools(SQLiteCheckpointStore(tmp_path / "runs.db", timeout=0.05))


@pytest.fixture
def lock(tmp_path):
    with closing(sqlite3.connect(tmp_path / "runs.db", check_same_thread=False)) as connection:
        yield connection


def test_before_the_effect_nothing_runs(way, durable, lock, oracle):
    saver = InMemorySaver()
    locking = ScriptedChat(lambda _: lock.execute("BEGIN IMMEDIATE") and CHAT.replies[0])
    app: Any = durable_app(way, durable, locking, [oracle.tool("charge")], saver)

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.invoke(GO, THREAD)
    assert oracle.lines == []
    lock.rollback()

    app = durable_app(way, durable, CHAT, [oracle.tool("charge")], saver)
    assert answers(app.invoke(None, THREAD)) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5"]


def test_after_the_effect_a_person_is_asked(way, durable, lock, oracle):
    def charge(x: str) -> str:
        lock.execute("BEGIN IMMEDIATE")
        return "charged"

    app = durable_app(way, durable, CHAT, [oracle.tool("charge", charge)], InMemorySaver())

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.invoke(GO, THREAD)
    lock.rollback()
    asked = app.invoke(None, THREAD)
    (question,) = interrupts(asked)
    done = app.invoke(Command(resume={question.id: {"type": "respond", "message": "paid"}}), THREAD)

    assert causes(asked) == ["died"]
    assert answers(done) == {"c1": "paid"}
    assert oracle.lines == ["charge:5"]
