"""What every test shares: readable failures of the published contracts, and a store of each kind."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("agent_adapter.testing")

from agent_adapter.exec.checkpoints import (  # noqa: E402 - the rewrite must be registered first
    DurableStore,
    MemoryCheckpointStore,
    SQLiteCheckpointStore,
)


@pytest.fixture
def memory_store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> SQLiteCheckpointStore:
    return SQLiteCheckpointStore(tmp_path / "runs.db")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest) -> DurableStore:
    """An empty store, once of each kind."""
    made: DurableStore = request.getfixturevalue(f"{request.param}_store")
    return made
