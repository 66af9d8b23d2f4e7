"""A run of its own for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rivals.processes import Workers
from tests.rivals.shop import Shop


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def shop(path: Path) -> Shop:
    return Shop(path)


@pytest.fixture
def workers(path: Path) -> Iterator[Workers]:
    made = Workers(path)
    yield made
    made.close()
