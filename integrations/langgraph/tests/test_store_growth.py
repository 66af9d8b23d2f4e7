"""What the record of a thread costs grows with its calls, not with the square of them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from lg_scripted import GO, Oracle, ScriptedChat, ask, durable_app

from agent_adapter_langgraph import DurableTools


def stored(path: Path) -> int:
    """The bytes of all documents in the file."""
    with closing(sqlite3.connect(path)) as connection:
        (records,) = connection.execute(
            "SELECT sum(length(document)) FROM agent_adapter_records"
        ).fetchone()
        (heads,) = connection.execute(
            "SELECT sum(length(document)) FROM agent_adapter_checkpoints"
        ).fetchone()
    return int(records + heads)


def bytes_of(folder: Path, way: str, turns: int, named: dict[str, str]) -> int:
    """What a thread with so many tool turns leaves in the store."""
    folder.mkdir()
    chat = ScriptedChat(*(ask(("look", str(n), f"c{n}")) for n in range(turns)))
    tools = [Oracle(folder / "effects").tool("look", lambda x: x * 100)]
    app = durable_app(way, DurableTools(folder / "runs.db"), chat, tools, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "thread", **named}, "recursion_limit": 1000}
    app.invoke(GO, config)
    return stored(folder / "runs.db")


@pytest.mark.parametrize(
    "named", [{}, {"agent_adapter_run": "order-42"}], ids=["thread", "named run"]
)
def test_twice_the_calls_cost_twice_the_bytes(way, named, tmp_path):
    few = bytes_of(tmp_path / "few", way, 8, named)
    many = bytes_of(tmp_path / "many", way, 16, named)

    assert many < 2.3 * few
