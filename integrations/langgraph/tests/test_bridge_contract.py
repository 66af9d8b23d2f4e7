"""The bridge keeps every promise of the published contract, in each of its three ways in."""

import pytest
from lg_rig import AgentWorker, NodeWorker, WrappedWorker

from agent_adapter.testing.bridges import BRIDGE, Stage


@pytest.mark.parametrize("worker", [NodeWorker, AgentWorker, WrappedWorker])
@pytest.mark.parametrize("promise", BRIDGE, ids=lambda promise: promise.__name__)
async def test_keeps(promise, worker, tmp_path):
    await promise(Stage(worker, tmp_path))
