"""The store contract: positions, their steps and their history."""

import asyncio
from typing import Any

from agent_adapter.errors import CheckpointConflict, ToolUsageError
from agent_adapter.exec.checkpoints import CheckpointStore, StoredCheckpoint
from agent_adapter.testing._store_values import (
    BAD_NUMBERS,
    BAD_RUN_IDS,
    GOOD_RUN_IDS,
    checkpoint,
    record,
    refused,
)


async def first_save_is_step_zero(store: CheckpointStore) -> None:
    """A run that is not stored starts with step 0 and no other."""
    await refused(CheckpointConflict, store.save("run", 1, checkpoint()))
    await refused(CheckpointConflict, store.save("run", 2, checkpoint()))
    assert await store.latest("run") is None
    await store.save("run", 0, checkpoint())
    assert await store.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint())


async def a_run_starts_once(store: CheckpointStore) -> None:
    """Step 0 of a stored run is refused and changes nothing."""
    await store.save("run", 0, checkpoint("first"))
    await refused(CheckpointConflict, store.save("run", 0, checkpoint("second")))
    assert await store.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint("first"))


async def only_the_next_step_is_saved(store: CheckpointStore) -> None:
    """The same, an older and a skipped step are refused and change nothing."""
    await store.save("run", 0, checkpoint())
    await store.save("run", 1, checkpoint("one"))
    for step in (0, 1, 3):
        await refused(CheckpointConflict, store.save("run", step, checkpoint("wrong")))
    assert await store.latest("run") == StoredCheckpoint(step=1, checkpoint=checkpoint("one"))


async def one_of_many_racing_workers_wins(store: CheckpointStore) -> None:
    """Of eight savers of one step one returns, and what it saved is stored."""
    await store.save("run", 0, checkpoint())
    saves = (store.save("run", 1, checkpoint(str(n))) for n in range(8))
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    winners = [n for n, outcome in enumerate(outcomes) if outcome is None]
    assert len(winners) == 1
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [
        CheckpointConflict
    ] * 7
    stored = StoredCheckpoint(step=1, checkpoint=checkpoint(str(winners[0])))
    assert await store.latest("run") == stored


async def another_life_of_the_run_id_is_refused(store: CheckpointStore) -> None:
    """A worker that outlived a delete cannot save over the run that came after it."""
    await store.save("run", 0, checkpoint(lineage="old"))
    await store.delete("run")
    await store.save("run", 0, checkpoint(lineage="new"))
    await refused(CheckpointConflict, store.save("run", 1, checkpoint(lineage="old")))
    assert await store.latest("run") == StoredCheckpoint(
        step=0, checkpoint=checkpoint(lineage="new")
    )


async def a_lower_segment_is_refused(store: CheckpointStore) -> None:
    """Segments never go back."""
    await store.save("run", 0, checkpoint(segment=5))
    await refused(CheckpointConflict, store.save("run", 1, checkpoint(segment=4)))
    assert await store.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint(segment=5))


async def bad_arguments_are_refused(store: CheckpointStore) -> None:
    """Bad run ids, steps, segments and values are the caller's fault, in every method."""
    for bad in BAD_RUN_IDS:
        for doing in (
            store.save(bad, 0, checkpoint()),
            store.latest(bad),
            store.record_call(bad, 0, record()),
            store.calls(bad, 0),
            store.delete(bad),
        ):
            await refused(ToolUsageError, doing)
    for bad in BAD_NUMBERS:
        for doing in (
            store.save("run", bad, checkpoint()),
            store.record_call("run", bad, record()),
            store.calls("run", bad),
        ):
            await refused(ToolUsageError, doing)
    wrong: Any = {}
    await refused(ToolUsageError, store.save("run", 0, wrong))
    await refused(ToolUsageError, store.save("run", 0, checkpoint("\ud800")))
    await refused(ToolUsageError, store.save("run", 0, checkpoint("x" * (64 * 2**20 + 1))))
    await refused(ToolUsageError, store.save("run", 0, checkpoint(kept=1)))
    await refused(ToolUsageError, store.record_call("run", 0, wrong))
    assert await store.latest("run") is None


async def run_ids_are_plain_text(store: CheckpointStore) -> None:
    """No character of a run id has a meaning to the backend."""
    for run_id in GOOD_RUN_IDS:
        await store.save(run_id, 0, checkpoint(run_id))
        await store.record_call(run_id, 0, record(run_id))
    for run_id in GOOD_RUN_IDS:
        assert await store.latest(run_id) == StoredCheckpoint(step=0, checkpoint=checkpoint(run_id))
        assert await store.calls(run_id, 0) == [record(run_id)]


async def documents_come_back_exactly(store: CheckpointStore) -> None:
    """Large, astral, NUL and escaped texts come back as they were, in the head, the history and a record."""
    for n, text in enumerate(
        (
            "",
            "\x00",
            "🚀" * 700,
            '"\\u0000\\ud800"' * 100,
            "é" * 600,
            '{"a": "' + "x" * 5_000_000 + '"}',
        )
    ):
        saved = checkpoint(text, history=(text, "between", text))
        await store.save(f"run-{n}", 0, saved)
        await store.record_call(f"run-{n}", 0, record(document=text))
        assert await store.latest(f"run-{n}") == StoredCheckpoint(step=0, checkpoint=saved)
        assert await store.calls(f"run-{n}", 0) == [record(document=text)]


async def what_was_read_is_a_copy(store: CheckpointStore) -> None:
    """Changing a value by force, saved or read, changes nothing that is stored."""
    saved, logged = checkpoint(), record()
    await store.save("run", 0, saved)
    await store.record_call("run", 0, logged)
    for value in (saved, logged, (await store.calls("run", 0))[0]):
        value.__dict__["document"] = "forged"
    read = await store.latest("run")
    assert read is not None
    read.checkpoint.__dict__["document"] = "forged"
    assert await store.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint())
    assert await store.calls("run", 0) == [record()]


async def history_is_appended(store: CheckpointStore) -> None:
    """A save adds its chunks after the ones it keeps, and `latest` has them all."""
    await store.save("run", 0, checkpoint(history=("a", "b")))
    await store.save("run", 1, checkpoint(history=("c",), kept=2))
    await store.save("run", 2, checkpoint(kept=3))
    whole = checkpoint(history=("a", "b", "c"))
    assert await store.latest("run") == StoredCheckpoint(step=2, checkpoint=whole)


async def history_is_rewritten_from_where_it_is_kept(store: CheckpointStore) -> None:
    """A save that keeps fewer chunks replaces the rest, all of them with `kept` 0."""
    await store.save("run", 0, checkpoint(history=("a", "b", "c")))
    await store.save("run", 1, checkpoint(history=("B",), kept=1))
    assert await store.latest("run") == StoredCheckpoint(
        step=1, checkpoint=checkpoint(history=("a", "B"))
    )
    await store.save("run", 2, checkpoint(history=("new",)))
    assert await store.latest("run") == StoredCheckpoint(
        step=2, checkpoint=checkpoint(history=("new",))
    )


async def chunks_that_are_not_stored_cannot_be_kept(store: CheckpointStore) -> None:
    """A save that keeps more chunks than there are is refused and changes nothing."""
    await store.save("run", 0, checkpoint(history=("a",)))
    await refused(ToolUsageError, store.save("run", 1, checkpoint(kept=2)))
    assert await store.latest("run") == StoredCheckpoint(
        step=0, checkpoint=checkpoint(history=("a",))
    )
