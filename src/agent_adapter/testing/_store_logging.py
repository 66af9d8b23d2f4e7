"""The store contract: the call log of a segment, unfinished runs, and deletion."""

import asyncio
from typing import Any

from agent_adapter.errors import CheckpointConflict, ConfigError
from agent_adapter.exec.checkpoints import CallRecord, CheckpointStore, StoredCheckpoint
from agent_adapter.testing._store_values import checkpoint, record, refused


async def a_new_segment_drops_the_call_log(store: CheckpointStore) -> None:
    """Moving to a new segment leaves neither the old log nor its records under the new number."""
    await store.save("run", 0, checkpoint(segment=1))
    await store.record_call("run", 1, record())
    await store.save("run", 1, checkpoint(segment=2))
    assert (await store.calls("run", 1), await store.calls("run", 2)) == ([], [])


async def a_save_in_the_same_segment_keeps_the_log(store: CheckpointStore) -> None:
    """A pause saves a position in the same segment; its calls stay."""
    await store.save("run", 0, checkpoint(segment=1))
    await store.record_call("run", 1, record())
    await store.save("run", 1, checkpoint(segment=1, status="paused"))
    assert await store.calls("run", 1) == [record()]


async def only_the_current_segment_takes_records(store: CheckpointStore) -> None:
    """An old, a future and an unknown run's segment are refused, and nothing is stored."""
    await store.save("run", 0, checkpoint(segment=1))
    await store.save("run", 1, checkpoint(segment=2))
    for run_id, segment in (("run", 1), ("run", 3), ("unknown", 0)):
        await refused(CheckpointConflict, store.record_call(run_id, segment, record()))
        assert await store.calls(run_id, segment) == []
    assert await store.calls("run", 2) == []


async def the_latest_record_keeps_the_first_place(store: CheckpointStore) -> None:
    """a, b, a again reads as the new a, then b."""
    await store.save("run", 0, checkpoint())
    await store.record_call("run", 0, record("a"))
    await store.record_call("run", 0, record("b"))
    done = CallRecord(key="a", tool="other", state="done", document=None)
    await store.record_call("run", 0, done)
    assert await store.calls("run", 0) == [done, record("b")]


async def concurrent_records_all_survive(store: CheckpointStore) -> None:
    """A hundred calls recorded at once are a hundred records."""
    await store.save("run", 0, checkpoint())
    calls = [record(f"call-{n}", document=f"{n}" * 300) for n in range(100)]
    await asyncio.gather(*(store.record_call("run", 0, call) for call in calls))
    stored = await store.calls("run", 0)
    assert sorted(stored, key=lambda call: call.key) == sorted(calls, key=lambda call: call.key)


async def the_stalest_running_runs_are_listed(store: CheckpointStore) -> None:
    """Only running runs, the one saved longest ago first, by exact name and up to the limit."""
    for status in ("running", "paused", "done", "denied", "failed"):
        await store.save(status, 0, checkpoint(status=status))
    await store.save("other", 0, checkpoint(name="loop-2"))
    await store.save("newer", 0, checkpoint())
    await store.save("running", 1, checkpoint())
    assert await store.list_unfinished() == ["other", "newer", "running"]
    assert await store.list_unfinished(name="loop") == ["newer", "running"]
    assert await store.list_unfinished(name="loo") == []
    assert await store.list_unfinished(limit=1) == ["other"]
    assert await store.list_unfinished(limit=0) == []
    wrong: Any
    for wrong in (-1, True, "1", None):
        await refused(ConfigError, store.list_unfinished(limit=wrong))
    wrong = 5
    await refused(ConfigError, store.list_unfinished(name=wrong))


async def a_hundred_unfinished_runs_are_listed_by_default(store: CheckpointStore) -> None:
    """The default limit is 100."""
    await asyncio.gather(*(store.save(f"run-{n}", 0, checkpoint()) for n in range(101)))
    assert len(await store.list_unfinished()) == 100  # noqa: PLR2004


async def a_run_is_listed_while_it_runs(store: CheckpointStore) -> None:
    """A paused run is not listed, one that goes on is, and an ended one is not."""
    await store.save("run", 0, checkpoint(status="paused"))
    assert await store.list_unfinished() == []
    await store.save("run", 1, checkpoint())
    assert await store.list_unfinished() == ["run"]
    await store.save("run", 2, checkpoint(status="done"))
    assert await store.list_unfinished() == []


async def a_deleted_run_is_gone(store: CheckpointStore) -> None:
    """Nothing of a deleted run is left: no position, no history, no log; it can start anew."""
    await store.save("run", 0, checkpoint(history=("old",)))
    await store.record_call("run", 0, record())
    assert await store.delete("run") is True
    assert await store.delete("run") is False
    assert (await store.latest("run"), await store.calls("run", 0)) == (None, [])
    assert await store.list_unfinished() == []
    await refused(CheckpointConflict, store.record_call("run", 0, record()))
    await store.save("run", 0, checkpoint())
    assert await store.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint())
    assert await store.calls("run", 0) == []


async def thousands_of_saves_keep_the_whole_history(store: CheckpointStore) -> None:
    """2,000 saves lose no chunk and leave one head."""
    for step in range(2000):
        await store.save(
            "run", step, checkpoint(f"head {step}", history=(f"chunk {step}",), kept=step)
        )
    whole = checkpoint("head 1999", history=tuple(f"chunk {n}" for n in range(2000)))
    assert await store.latest("run") == StoredCheckpoint(step=1999, checkpoint=whole)
