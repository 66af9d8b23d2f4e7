"""The key that a store makes for itself: item 102, the store's half."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import MemoryCheckpointStore, SQLiteCheckpointStore

Start = Callable[..., Any]


def test_the_key_is_made_once_and_private(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    key = sqlite_store.embedded_key()
    assert (tmp_path / "runs.db.key").read_bytes() == key + b"\n"
    assert stat.S_IMODE((tmp_path / "runs.db.key").stat().st_mode) == 0o600
    assert len(key) >= 32
    assert SQLiteCheckpointStore(tmp_path / "runs.db").embedded_key() == key
    assert sorted(file.name for file in tmp_path.glob("*key*")) == ["runs.db.key"]


def test_racing_processes_agree_on_one_key(start_worker: Start, tmp_path: Path) -> None:
    workers = [start_worker("key", tmp_path / "runs.db") for _ in range(4)]
    assert [worker.hear() for worker in workers] == ["ready"] * 4
    for worker in workers:
        worker.go()
    keys = {worker.hear() for worker in workers}
    assert keys == {(tmp_path / "runs.db.key").read_text().strip()}


def test_a_lost_key_file_is_refused_and_not_made_anew(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    sqlite_store.embedded_key()
    (tmp_path / "runs.db.key").unlink()
    with pytest.raises(ConfigError, match=r"runs\.db\.key is missing.*runs\.db .*checkpoint_key"):
        SQLiteCheckpointStore(tmp_path / "runs.db").embedded_key()
    assert not (tmp_path / "runs.db.key").exists()


@pytest.mark.parametrize("content", ["another key " * 5, "short", ""])
def test_another_key_is_refused(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path, content: str
) -> None:
    key = sqlite_store.embedded_key()
    (tmp_path / "runs.db.key").write_text(content)
    with pytest.raises(ConfigError, match=r"runs\.db\.key"):
        sqlite_store.embedded_key()
    (tmp_path / "runs.db.key").write_bytes(key)
    assert sqlite_store.embedded_key() == key


def test_a_key_file_that_was_laid_beforehand_is_used(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    (tmp_path / "runs.db.key").write_text("k" * 40 + "\n")
    assert sqlite_store.embedded_key() == b"k" * 40


def test_a_key_that_is_too_short_binds_nothing(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    (tmp_path / "runs.db.key").write_text("short")
    with pytest.raises(ConfigError, match="5 bytes"):
        sqlite_store.embedded_key()
    (tmp_path / "runs.db.key").unlink()
    assert len(sqlite_store.embedded_key()) >= 32


def test_each_memory_store_has_a_key_of_its_own() -> None:
    first, second = MemoryCheckpointStore(), MemoryCheckpointStore()
    assert first.embedded_key() == first.embedded_key() != second.embedded_key()
    assert len(first.embedded_key()) == 32
