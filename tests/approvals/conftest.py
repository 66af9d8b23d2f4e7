"""What the tests of approvals share: a store in a file, and edits of the file behind its back."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.approvals import SQLiteApprovalStore


@pytest.fixture(autouse=True)
def _no_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_ADAPTER_CHECKPOINT_KEY", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def sqlite_approvals(file: Path) -> SQLiteApprovalStore:
    return SQLiteApprovalStore(file)


@pytest.fixture
def execute(file: Path) -> Callable[..., list[Any]]:
    """Run statements on the file with a connection of its own."""

    def run(statement: str, *values: object) -> list[Any]:
        connection = sqlite3.connect(file)
        rows = connection.execute(statement, values).fetchall()
        connection.commit()
        connection.close()
        return rows

    return run
