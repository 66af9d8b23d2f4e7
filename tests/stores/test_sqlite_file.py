"""The SQLite file itself: settings, foreign and newer files, deletion, damage. Items 63 to 66, 69 and 108."""

import asyncio
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_adapter._sqlite import _schema as schema
from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import Checkpoint, SQLiteCheckpointStore
from agent_adapter.testing.stores import checkpoint, record

FOREIGN = "CREATE TABLE agent_adapter_calls (id INTEGER PRIMARY KEY, what TEXT)"


def execute(path: Path, *statements: str) -> list[Any]:
    connection = sqlite3.connect(path)
    rows: list[Any] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return rows


def remove(directory: Path) -> None:
    for file in directory.glob("runs.db*"):
        file.unlink()


@pytest.mark.parametrize(
    "path",
    [
        5,
        "",
        None,
        b"runs.db",
        ":memory:",
        Path(":memory:"),
        "file:runs.db",
        "file:///runs.db?mode=ro",
        "a\0b",
    ],
)
def test_what_is_no_path_of_a_file_is_refused_now(path: Any) -> None:
    """item 64"""
    with pytest.raises(ConfigError, match="path"):
        SQLiteCheckpointStore(path)


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), True, "5", None])
def test_a_bad_timeout_is_refused_now(tmp_path: Path, timeout: Any) -> None:
    """item 64"""
    with pytest.raises(ConfigError, match="timeout"):
        SQLiteCheckpointStore(tmp_path / "runs.db", timeout=timeout)


async def test_the_file_is_power_safe_and_private(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 66"""
    await sqlite_store.save("run", 0, checkpoint())
    connection = sqlite_store._database.writer._connection
    assert connection is not None
    settings = ("journal_mode", "synchronous", "secure_delete")
    assert [connection.execute(f"PRAGMA {what}").fetchone()[0] for what in settings] == [
        "wal",
        2,
        2,
    ]
    assert stat.S_IMODE((tmp_path / "runs.db").stat().st_mode) == 0o600


async def test_other_tables_in_the_file_are_untouched(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 66"""
    execute(tmp_path / "runs.db", "CREATE TABLE mine (a)", "INSERT INTO mine VALUES ('kept')")
    await sqlite_store.save("run", 0, checkpoint())
    await sqlite_store.delete("run")
    assert execute(tmp_path / "runs.db", "SELECT a FROM mine") == [("kept",)]


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param([FOREIGN], id="a foreign table alone"),
        pytest.param(["CREATE TABLE agent_adapter_meta (version)"], id="a foreign meta table"),
        pytest.param(["CREATE TABLE agent_adapter_meta (key, value)"], id="no version"),
    ],
)
async def test_foreign_tables_of_our_names_are_refused(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path, statements: list[str]
) -> None:
    """item 65"""
    execute(tmp_path / "runs.db", *statements)
    before = (tmp_path / "runs.db").read_bytes()
    for doing in (sqlite_store.save("run", 0, checkpoint()), sqlite_store.latest("run")):
        with pytest.raises(ConfigError, match="agent_adapter"):
            await doing
    assert (tmp_path / "runs.db").read_bytes() == before


async def test_a_table_that_lost_a_column_is_refused(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 65"""
    await sqlite_store.save("run", 0, checkpoint())
    sqlite_store._database.writer.close()
    execute(
        tmp_path / "runs.db", "ALTER TABLE agent_adapter_records RENAME COLUMN tool TO instrument"
    )
    with pytest.raises(ConfigError, match="agent_adapter_records"):
        await sqlite_store.save("run", 1, checkpoint())


async def test_a_newer_schema_is_refused(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 65"""
    await sqlite_store.save("run", 0, checkpoint())
    sqlite_store._database.writer.close()
    execute(tmp_path / "runs.db", "UPDATE agent_adapter_meta SET value = '2' WHERE key = 'schema'")
    before = (tmp_path / "runs.db").read_bytes()
    with pytest.raises(ConfigError, match="schema version 2"):
        await sqlite_store.save("run", 1, checkpoint())
    assert (tmp_path / "runs.db").read_bytes() == before


def test_tables_that_appear_during_the_inspection_are_not_taken_for_foreign(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    execute(path, "PRAGMA journal_mode = WAL")

    class Overtaken(sqlite3.Connection):
        """Another process makes the tables just after the first of them was looked for."""

        overtaken = False

        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            cursor = super().execute(statement, *arguments)
            if statement.startswith("PRAGMA table_info") and not self.overtaken:
                self.overtaken = True
                schema.prepare(sqlite3.connect(path, isolation_level=None), str(path))
            return cursor

    connection = sqlite3.connect(path, isolation_level=None, factory=Overtaken)
    schema.prepare(connection, str(path))
    assert connection.overtaken
    assert schema.meta(connection, "schema") == "1"


def test_a_file_that_cannot_do_wal_is_refused() -> None:
    """item 65: a database in memory cannot, and is reached here without a path."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(ConfigError, match="write-ahead log"):
        schema.prepare(connection, "runs.db")
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


async def test_a_deleted_file_is_noticed_and_not_made_anew(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 69"""
    await sqlite_store.save("run", 0, checkpoint())
    await sqlite_store.latest("run")
    remove(tmp_path)
    for doing in (sqlite_store.save("run", 1, checkpoint()), sqlite_store.latest("run")):
        with pytest.raises(sqlite3.OperationalError, match="deleted or replaced"):
            await doing
    assert not (tmp_path / "runs.db").exists()


async def test_a_replaced_file_is_noticed(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 69"""
    await sqlite_store.save("run", 0, checkpoint())
    other = SQLiteCheckpointStore(tmp_path / "other.db")
    await other.save("run", 0, checkpoint("other"))
    other._database.writer.close()
    (tmp_path / "other.db").replace(tmp_path / "runs.db")
    for doing in (sqlite_store.save("run", 1, checkpoint()), sqlite_store.latest("run")):
        with pytest.raises(sqlite3.OperationalError, match="deleted or replaced"):
            await doing


async def test_a_new_store_object_begins_with_what_is_there(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    await sqlite_store.save("run", 0, checkpoint())
    remove(tmp_path)
    fresh = SQLiteCheckpointStore(tmp_path / "runs.db")
    assert await fresh.latest("run") is None
    await fresh.save("run", 0, checkpoint())
    assert await fresh.position("run") == (0, 0)


async def test_a_missing_directory_is_an_error_every_time(tmp_path: Path) -> None:
    """item 69"""
    store = SQLiteCheckpointStore(tmp_path / "missing" / "runs.db")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            await store.save("run", 0, checkpoint())
        with pytest.raises(FileNotFoundError):
            await store.latest("run")


async def test_a_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("not a database " * 100)
    with pytest.raises(ConfigError, match=r"runs\.db is not a SQLite database"):
        await SQLiteCheckpointStore(tmp_path / "runs.db").save("run", 0, checkpoint())


async def test_stored_bytes_per_call_stay_close_to_the_body(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """At most the body and 300 bytes for each of 1,000 calls, with a body that hardly packs."""
    body = "".join(f"{n * n * 7919 % 99_991:05d}" for n in range(400))
    await sqlite_store.save("run", 0, checkpoint())
    await asyncio.gather(
        *(
            sqlite_store.claim_call(
                "run", 0, record(f"tool:{n:064x}:0", "done", f"{n}{body}"), None
            )
            for n in range(1000)
        )
    )
    sqlite_store._database.writer.close()
    sqlite_store._database.readers.close()
    assert (tmp_path / "runs.db").stat().st_size / 1000 <= len(body) + 300


async def test_bytes_written_per_step_do_not_grow_with_the_run(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    """item 108, the store's half: 40 steps at 1,000 write at most 1.2 times what 40 steps at 10 do."""
    chunk = "".join(f"{n * n * 7919 % 99_991:05d}" for n in range(400))

    def position(step: int) -> Checkpoint:
        return checkpoint(
            f"head {step:06d}", segment=step, history=(f"{step:06d}{chunk}",), kept=step
        )

    async def bytes_of(first: int, last: int) -> int:
        before = (tmp_path / "runs.db-wal").stat().st_size
        for step in range(first, last):
            started = record(document=f"{step:06d}")
            await sqlite_store.save("run", step, position(step))
            await sqlite_store.claim_call("run", step, started, None)
            await sqlite_store.claim_call(
                "run", step, record(state="done", document=chunk), started
            )
        return (tmp_path / "runs.db-wal").stat().st_size - before

    await sqlite_store.delete("run")
    connection = sqlite_store._database.writer._connection
    assert connection is not None
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    await bytes_of(0, 10)
    early = await bytes_of(10, 50)
    await asyncio.gather(
        *(sqlite_store.save("run", step, position(step)) for step in range(50, 1000))
    )
    assert await bytes_of(1000, 1040) <= 1.2 * early
