"""Bytes that somebody else put into the store are refused before anything in them is looked at, and call nothing."""

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command, interrupt
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, ask, durable_app

from agent_adapter.errors import CheckpointStoreCorrupt

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


def text_of(document: Any) -> str:
    return document if isinstance(document, str) else zlib.decompress(document).decode()


def change_records(path: Path, change: Callable[[list[str]], list[Any]]) -> None:
    """Rewrite the documents of all finished records in the file."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, document FROM agent_adapter_records WHERE state = 'done' ORDER BY id"
        )
        ids, documents = zip(*rows.fetchall(), strict=True)
        for row, document in zip(ids, change([text_of(each) for each in documents]), strict=True):
            connection.execute(
                "UPDATE agent_adapter_records SET document = ? WHERE id = ?", (document, row)
            )
        connection.commit()


def another_character(documents: list[str]) -> list[Any]:
    return [each.replace("charge 5 done", "charge 6 done") for each in documents]


def a_class_to_make(documents: list[str]) -> list[Any]:
    """A body that names a class, under the real key's name and a MAC that nobody without the key can make."""
    trap = {"$model": {"type": f"{__name__}:Trap", "fields": {"what": "made"}}}
    body = json.dumps({"v": 1, "outcome": {"kind": "value", "value": trap}})
    return [f"{each.split('.')[0]}.{each.split('.')[1]}.{'0' * 64}.{body}" for each in documents]


def without_a_seal(documents: list[str]) -> list[Any]:
    return [each.split(".", 3)[3] for each in documents]


def another_calls_record(documents: list[str]) -> list[Any]:
    return [documents[0]] * len(documents)


def other_bytes(documents: list[str]) -> list[Any]:
    return [b"\x80\x04cos\nsystem\n."] * len(documents)


FORGERIES = [another_character, a_class_to_make, without_a_seal, another_calls_record, other_bytes]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_a_forged_record_is_refused_and_nothing_runs(
    *, change, way, sync_saver, make_durable, tmp_path, oracle
):
    CALLED.clear()
    app = durable_app(way, make_durable(), ScriptedChat(TURN), tools_of(oracle), sync_saver)
    app.invoke(GO, THREAD)
    change_records(tmp_path / "runs.db", change)
    later = durable_app(
        way, make_durable(types=[Trap]), ScriptedChat(TURN), tools_of(oracle), sync_saver
    )

    with pytest.raises(CheckpointStoreCorrupt):
        later.invoke(Command(resume="yes"), THREAD)

    assert [line for line in oracle.lines if "charge" in line] == ["charge:5"]
    assert CALLED == []
