"""Records that go when what they belong to goes: a thread, a session, a named request, or age."""

import time

from agent_adapter.errors import ConfigError
from agent_adapter.exec._ledger import Ledger
from agent_adapter.exec.checkpoints import CheckpointStore, RunListing

PAGE = 500


def listing_of(store: CheckpointStore) -> RunListing:
    """The store as one that lists its runs.

    Raises:
        ConfigError: it cannot.
    """
    if not isinstance(store, RunListing):
        raise ConfigError(f"{type(store).__name__} cannot list its runs (the RunListing protocol)")
    return store


async def delete_runs(store: CheckpointStore, name: str) -> int:
    """How many runs of this name were deleted.

    Raises:
        ConfigError: the store cannot list its runs.
    """
    listed, deleted = listing_of(store), 0
    while runs := await listed.list_runs(name=name, limit=PAGE):
        for run in runs:
            deleted += await store.delete(run.run_id)
    return deleted


async def prune_runs(
    ledger: Ledger, store: CheckpointStore, older_than_s: float, prefixes: tuple[str, ...]
) -> int:
    """How many runs were deleted: begun at least so long ago, named with one of these prefixes, every call finished.

    Raises:
        ConfigError: the store cannot list its runs.
    """
    listed, deleted, after = listing_of(store), 0, None
    before = time.time() - older_than_s
    while runs := await listed.list_runs(kind="flow", saved_before=before, after=after, limit=PAGE):
        after = runs[-1].run_id
        for run in runs:
            if run.name.startswith(prefixes) and await ledger.finished(run.run_id):
                deleted += await store.delete(run.run_id)
    return deleted
