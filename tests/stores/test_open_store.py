"""A store from what a user passes."""

from pathlib import Path
from typing import Any

import pytest

from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import (
    CheckpointStore,
    MemoryCheckpointStore,
    SQLiteCheckpointStore,
    open_store,
)
from agent_adapter.testing.stores import checkpoint


class Unclaimed:
    """A CheckpointStore without CallClaims."""

    async def save(self, run_id: str, step: int, checkpoint: Any) -> None: ...
    async def latest(self, run_id: str) -> None: ...
    async def record_call(self, run_id: str, segment: int, call: Any) -> None: ...
    async def calls(self, run_id: str, segment: int) -> list[Any]:
        return []

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        return []

    async def delete(self, run_id: str) -> bool:
        return False


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}", "SQLite:///{}"])
async def test_a_path_or_url_opens_the_sqlite_file(tmp_path: Path, form: str) -> None:
    store = open_store(form.format(tmp_path / "runs.db"))
    await store.save("run", 0, checkpoint())
    assert await SQLiteCheckpointStore(tmp_path / "runs.db").position("run") == (0, 0)


async def test_a_relative_url_and_a_pathlike_name_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await open_store("sqlite:///runs.db").save("run", 0, checkpoint())
    assert await open_store(Path("runs.db")).position("run") == (0, 0)


def test_a_store_is_passed_through(memory_store: MemoryCheckpointStore) -> None:
    assert open_store(memory_store) is memory_store


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "postgresql://u:p@host/db",
        "postgresql+asyncpg://h/d",
        "sqlite+aiosqlite:///a.db",
    ],
)
def test_other_backends_are_refused_by_name(url: str) -> None:
    with pytest.raises(ConfigError, match=r"memory .* or in SQLite"):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite://host/a.db", "sqlite:///a.db?mode=ro"]
)
def test_a_sqlite_url_has_a_path_and_nothing_else(url: str) -> None:
    with pytest.raises(ConfigError, match="sqlite:///path"):
        open_store(url)


def test_a_store_without_claims_is_refused() -> None:
    """item 59"""
    assert isinstance(Unclaimed(), CheckpointStore)
    with pytest.raises(ConfigError, match="claim_call"):
        open_store(Unclaimed())


@pytest.mark.parametrize("wrong", [None, 5, b"runs.db", object(), MemoryCheckpointStore])
def test_what_is_no_store_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="neither a path"):
        open_store(wrong)
