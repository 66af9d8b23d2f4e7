"""The checkpointer's file stays locked longer than it waits: its error ends the run, and the effect stays one."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, bare_app, durable_app


@pytest.fixture
def impatient(tmp_path):
    """A checkpointer that gives up at once, and a lock on its file that the tool takes and the test releases."""
    path = tmp_path / "graph.db"
    with closing(sqlite3.connect(path, check_same_thread=False, timeout=0.05)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        with closing(sqlite3.connect(path, check_same_thread=False)) as lock:
            yield saver, lock


def charging(oracle: Any, lock: sqlite3.Connection) -> Any:
    def charge(x: str) -> str:
        lock.execute("BEGIN IMMEDIATE")
        return "charged"

    return oracle.tool("charge", charge)


def test_the_effect_stays_one(way, impatient, durable, oracle):
    saver, lock = impatient
    app = durable_app(
        way, durable, ScriptedChat(ask(("charge", "5", "c1"))), [charging(oracle, lock)], saver
    )

    for given in (GO, None):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            app.invoke(given, THREAD)
    lock.rollback()
    done = app.invoke(None, THREAD)

    assert answers(done) == {"c1": "charged"}
    assert oracle.lines == ["charge:5"]


def test_control_bare_langgraph_repeats_the_effect(impatient, oracle):
    saver, lock = impatient
    app = bare_app(
        "agent", ScriptedChat(ask(("charge", "5", "c1"))), [charging(oracle, lock)], saver
    )

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.invoke(GO, THREAD)
    lock.rollback()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.invoke(None, THREAD)

    assert oracle.lines == ["charge:5"] * 2
