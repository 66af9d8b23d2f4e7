"""The bridge keeps every promise of the published contract, over both of ADK's session services that keep a file."""

import pytest
from adk_rig import DatabaseWorker, SqliteWorker

from agent_adapter.testing.bridges import BRIDGE, Stage


@pytest.mark.parametrize("worker", [SqliteWorker, DatabaseWorker])
@pytest.mark.parametrize("promise", BRIDGE, ids=lambda promise: promise.__name__)
async def test_keeps(promise, worker, tmp_path):
    await promise(Stage(worker, tmp_path))
