"""Every backend keeps every promise of the published contract: items 41 to 56."""

import pytest

from agent_adapter.exec.checkpoints import DurableStore, EmbeddedKey, Liveness, RunListing
from agent_adapter.testing.stores import CALL_CLAIMS, CHECKPOINT_STORE, RUN_LISTING, Promise


@pytest.mark.parametrize(
    "promise", [*CHECKPOINT_STORE, *CALL_CLAIMS, *RUN_LISTING], ids=lambda p: p.__name__
)
async def test_keeps(promise: Promise, store: DurableStore) -> None:
    await promise(store)


@pytest.mark.parametrize("protocol", [RunListing, EmbeddedKey, Liveness])
async def test_has_the_optional_protocol(protocol: type, store: DurableStore) -> None:
    assert isinstance(store, protocol)
