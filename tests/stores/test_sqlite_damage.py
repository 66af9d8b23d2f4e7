"""Rows that were damaged are refused wherever they are read: item 67."""

import sqlite3
import zlib
from pathlib import Path

import pytest

from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.testing.stores import checkpoint, record


def execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agent_adapter_checkpoints SET status = 'lost'",
        "UPDATE agent_adapter_checkpoints SET kind = 'other'",
        "UPDATE agent_adapter_checkpoints SET step = 'one'",
        "UPDATE agent_adapter_checkpoints SET segment = -1",
        "UPDATE agent_adapter_checkpoints SET document = x'00ff'",
        "UPDATE agent_adapter_checkpoints SET document = 5",
        "UPDATE agent_adapter_checkpoints SET chunks = 1",
        "UPDATE agent_adapter_checkpoints SET chunks = 3",
        "UPDATE agent_adapter_history SET chunk = x'00'",
        "DELETE FROM agent_adapter_history WHERE id & 1 = 0",
        "UPDATE agent_adapter_history SET id = id + 1 WHERE id & 1 = 1",
    ],
)
async def test_a_damaged_run_is_corrupt(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path, damage: str
) -> None:
    """item 67"""
    await sqlite_store.save("run", 0, checkpoint(history=("a", "b")))
    execute(tmp_path / "runs.db", damage)
    with pytest.raises(CheckpointStoreCorrupt, match="run 'run'"):
        await sqlite_store.latest("run")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agent_adapter_checkpoints SET step = 'one'",
        "UPDATE agent_adapter_checkpoints SET segment = x'00'",
        "UPDATE agent_adapter_checkpoints SET chunks = -1",
    ],
)
async def test_nothing_is_saved_over_a_damaged_position(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path, damage: str
) -> None:
    """item 67"""
    await sqlite_store.save("run", 0, checkpoint())
    execute(tmp_path / "runs.db", damage)
    with pytest.raises(CheckpointStoreCorrupt):
        await sqlite_store.save("run", 1, checkpoint())


async def test_a_damaged_run_is_not_listed(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 67"""
    await sqlite_store.save("run", 0, checkpoint())
    execute(tmp_path / "runs.db", "UPDATE agent_adapter_checkpoints SET kind = 'other'")
    with pytest.raises(CheckpointStoreCorrupt, match="run 'run'"):
        await sqlite_store.list_runs()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agent_adapter_records SET state = 'lost'",
        "UPDATE agent_adapter_records SET tool = x'ff'",
        "UPDATE agent_adapter_records SET document = x'00ff'",
        "DELETE FROM agent_adapter_records",
    ],
)
async def test_a_damaged_record_is_corrupt(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path, damage: str
) -> None:
    """item 67"""
    await sqlite_store.save("run", 0, checkpoint())
    await sqlite_store.claim_call("run", 0, record(), None)
    execute(tmp_path / "runs.db", damage)
    with pytest.raises(CheckpointStoreCorrupt):
        await sqlite_store.calls("run", 0)
    with pytest.raises(CheckpointStoreCorrupt):
        await sqlite_store.claim_call("run", 0, record(state="done"), record())


async def test_a_text_that_is_not_unicode_is_corrupt(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 67"""
    await sqlite_store.save("run", 0, checkpoint())
    execute(
        tmp_path / "runs.db", "UPDATE agent_adapter_checkpoints SET document = CAST(x'ff' AS TEXT)"
    )
    with pytest.raises(CheckpointStoreCorrupt):
        await sqlite_store.latest("run")


async def test_a_packed_text_inflates_within_bounds(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    await sqlite_store.save("run", 0, checkpoint())
    bomb = zlib.compress(bytes(65 * 1024 * 1024), 9)
    connection = sqlite3.connect(tmp_path / "runs.db")
    connection.execute("UPDATE agent_adapter_checkpoints SET document = ?", (bomb,))
    connection.commit()
    connection.close()
    with pytest.raises(CheckpointStoreCorrupt, match="too large"):
        await sqlite_store.latest("run")
