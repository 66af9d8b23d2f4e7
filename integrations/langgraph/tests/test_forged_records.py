"""Bytes that somebody else put into the store are refused before anything in them is looked at, and call nothing."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agent_adapter.errors import CheckpointStoreCorrupt, NotSealable
from langgraph.types import Command, interrupt
from lg_scripted import GO, Oracle, ScriptedChat, ask, durable_app

TURN = ask(("charge", "5", "c1"), ("confirm", "ship", "c2"))
CALLED: list[Any] = []


@dataclass
class Trap:
    """Tells when something makes one."""

    what: str

    def __post_init__(self) -> None:
        CALLED.append(self.what)


def tools_of(oracle: Oracle) -> list[Any]:
    return [oracle.tool("charge"), oracle.tool("confirm", lambda x: str(interrupt(x)))]


def change_records(path: Path, change: Callable[[Any], Any]) -> None:
    """Rewrite every finished record in the file."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, document FROM agent_adapter_records WHERE state = 'done'").fetchall()
        assert rows
        for row, document in rows:
            connection.execute("UPDATE agent_adapter_records SET document = ? WHERE id = ?", (change(document), row))
        connection.commit()


def flip_last_byte(document: bytes) -> bytes:
    return document[:-2] + bytes([document[-2] ^ 1]) + document[-1:]


def name_a_class(_: bytes) -> bytes:
    trap = {"$model": {"type": f"{__name__}:Trap", "fields": {"what": "made"}}}
    return json.dumps({"v": 1, "outcome": {"kind": "value", "value": trap}}).encode()


def empty(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("change", [flip_last_byte, name_a_class, empty])
async def test_a_changed_record_is_refused_and_nothing_runs(change, driver, make_durable, tmp_path, oracle):
    app = durable_app("node", make_durable(), ScriptedChat(TURN), tools_of(oracle), driver.saver)
    await driver.invoke(app, GO)
    before = oracle.lines
    change_records(tmp_path / "runs.db", change)
    later = durable_app("node", make_durable(types=[Trap]), ScriptedChat(TURN), tools_of(oracle), driver.saver)

    with pytest.raises(CheckpointStoreCorrupt):
        await driver.invoke(later, Command(resume="yes"))

    assert oracle.lines == before
    assert CALLED == []
