"""Group commit: what shares a transaction, what waits, what a cancellation and an error do to it."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore, StoredCheckpoint
from agent_adapter.testing.stores import checkpoint, record

Start = Callable[..., Any]


async def statements(store: SQLiteCheckpointStore) -> list[str]:
    """The statements that the writer runs from now on; private, since commits show nowhere else."""
    await store.delete("nothing")
    seen: list[str] = []
    connection = store._database.writer._connection
    assert connection is not None
    connection.set_trace_callback(seen.append)
    return seen


async def test_a_first_save_and_its_claim_share_one_commit(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    seen = await statements(sqlite_store)
    _, claimed = await asyncio.gather(
        sqlite_store.save("run", 0, checkpoint()),
        sqlite_store.claim_call("run", 0, record(), None, step=0),
    )
    assert claimed == record()
    assert seen.count("COMMIT") == 1


async def test_a_call_is_two_commits_and_no_connect(
    sqlite_store: SQLiteCheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sqlite_store.save("run", 0, checkpoint())
    seen = await statements(sqlite_store)
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("connected"))
    await sqlite_store.claim_call("run", 0, record(), None, step=0)
    await sqlite_store.claim_call("run", 0, record(state="done"), record())
    assert seen.count("COMMIT") == 2


async def test_a_hundred_parallel_calls_take_few_commits(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    await sqlite_store.save("run", 0, checkpoint())
    seen = await statements(sqlite_store)
    await asyncio.gather(
        *(sqlite_store.claim_call("run", 0, record(f"{n}"), None) for n in range(100))
    )
    assert seen.count("COMMIT") <= 10


async def test_one_poisoned_operation_fails_alone(sqlite_store: SQLiteCheckpointStore) -> None:
    await sqlite_store.save("taken", 0, checkpoint())

    def poison(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE agent_adapter_checkpoints SET step = 99")
        connection.execute(
            "INSERT INTO agent_adapter_checkpoints SELECT * FROM agent_adapter_checkpoints"
        )

    outcomes = await asyncio.gather(
        sqlite_store.save("a", 0, checkpoint("a")),
        sqlite_store.save("taken", 0, checkpoint()),
        sqlite_store._database.writer.run(poison, timeout_s=5),
        sqlite_store.save("b", 0, checkpoint("b")),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        CheckpointConflict,
        sqlite3.IntegrityError,
        type(None),
    ]
    for run_id, document in (("a", "a"), ("taken", "head"), ("b", "b")):
        assert await sqlite_store.latest(run_id) == StoredCheckpoint(
            step=0, checkpoint=checkpoint(document)
        )


async def test_a_lock_held_by_another_process_does_not_block_the_loop(
    sqlite_store: SQLiteCheckpointStore, start_worker: Start, tmp_path: Path
) -> None:
    """item 57"""
    await sqlite_store.save("run", 0, checkpoint())
    holder = start_worker("hold", tmp_path / "runs.db")
    assert await asyncio.to_thread(holder.hear) == "held"
    saving = asyncio.create_task(sqlite_store.save("run", 1, checkpoint()))
    longest, last = 0.0, time.perf_counter()
    until = last + 2
    while last < until:
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    assert await sqlite_store.position("run") == (0, 0)
    assert not saving.done()
    holder.go()
    await saving
    assert await sqlite_store.position("run") == (1, 0)
    assert longest < 0.1


async def test_each_caller_waits_for_the_lock_as_long_as_its_own_timeout(
    sqlite_store: SQLiteCheckpointStore, start_worker: Start, tmp_path: Path
) -> None:
    """item 63"""
    await sqlite_store.save("run", 0, checkpoint())
    holder = start_worker("hold", tmp_path / "runs.db")
    await asyncio.to_thread(holder.hear)
    patient = asyncio.create_task(sqlite_store.save("run", 1, checkpoint("patient")))
    hasty = SQLiteCheckpointStore(tmp_path / "runs.db", timeout=0.3)
    began = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await hasty.save("run", 1, checkpoint("hasty"))
    assert 0.3 <= time.monotonic() - began < 1.5
    assert await sqlite_store.position("run") == (0, 0)
    holder.go()
    await patient
    assert await sqlite_store.latest("run") == StoredCheckpoint(
        step=1, checkpoint=checkpoint("patient")
    )


async def test_a_cancelled_save_that_still_waits_is_withdrawn(
    sqlite_store: SQLiteCheckpointStore, start_worker: Start, tmp_path: Path
) -> None:
    """item 58"""
    await sqlite_store.save("run", 0, checkpoint())
    holder = start_worker("hold", tmp_path / "runs.db")
    await asyncio.to_thread(holder.hear)
    saving = asyncio.create_task(sqlite_store.save("run", 1, checkpoint("withdrawn")))
    await asyncio.sleep(0)
    saving.cancel()
    await asyncio.wait([saving])
    assert saving.cancelled()
    holder.go()
    await sqlite_store.save("run", 1, checkpoint("next"))
    assert await sqlite_store.latest("run") == StoredCheckpoint(
        step=1, checkpoint=checkpoint("next")
    )


async def test_a_save_that_has_begun_ends_before_its_cancellation_is_delivered(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    """item 58"""
    await sqlite_store.save("run", 0, checkpoint())
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait()
        connection.execute("UPDATE agent_adapter_checkpoints SET step = 7")

    writing = asyncio.create_task(sqlite_store._database.writer.run(slow, timeout_s=5))
    await asyncio.to_thread(begun.wait)
    for _ in range(3):
        writing.cancel()
        await asyncio.sleep(0)
    assert not writing.done()
    go_on.set()
    await asyncio.wait([writing])
    assert writing.cancelled()
    assert await sqlite_store.position("run") == (7, 0)


async def test_a_cancelled_save_leaves_the_old_or_the_new_position(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    """item 58: cancelled after any number of loop turns, the next save with the right step works."""
    await sqlite_store.save("run", 0, checkpoint())
    step = 0
    for turns in range(60):
        saving = asyncio.create_task(sqlite_store.save("run", step + 1, checkpoint()))
        for _ in range(turns % 12):
            await asyncio.sleep(0)
        saving.cancel()
        await asyncio.wait([saving])
        position = await sqlite_store.position("run")
        assert position in {(step, 0), (step + 1, 0)}
        step = position[0]
        await sqlite_store.save("run", step + 1, checkpoint())
        step += 1


async def test_a_batch_that_failed_as_a_whole_runs_again_one_by_one(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    """The disk is full for this one connection; its jobs are not lost, and none is half done."""
    await statements(sqlite_store)
    connection = sqlite_store._database.writer._connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    large = "".join(chr(0x4E00 + (n * n) % 20_000) for n in range(100_000))
    outcomes = await asyncio.gather(
        sqlite_store.save("small", 0, checkpoint()),
        sqlite_store.save("large", 0, checkpoint(large)),
    )
    assert outcomes == [None, None]
    assert sqlite_store._database.writer._connection is not connection
    assert await sqlite_store.latest("large") == StoredCheckpoint(
        step=0, checkpoint=checkpoint(large)
    )


async def test_large_documents_do_not_share_one_transaction(
    sqlite_store: SQLiteCheckpointStore,
) -> None:
    seen = await statements(sqlite_store)
    document = "x" * 5_000_000
    await asyncio.gather(
        *(sqlite_store.save(f"run-{n}", 0, checkpoint(document)) for n in range(4))
    )
    assert seen.count("COMMIT") >= 2


def test_the_thread_rests_and_starts_again(sqlite_store: SQLiteCheckpointStore) -> None:
    asyncio.run(sqlite_store.save("run", 0, checkpoint()))
    sqlite_store._database.writer.close()
    assert sqlite_store._database.writer._connection is None
    asyncio.run(sqlite_store.save("run", 1, checkpoint()))
    assert asyncio.run(sqlite_store.position("run")) == (1, 0)


def test_a_save_that_gets_no_thread_fails_and_leaves_nothing_behind(
    sqlite_store: SQLiteCheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            asyncio.run(sqlite_store.save("run", 0, checkpoint("lost")))
    asyncio.run(sqlite_store.save("run", 0, checkpoint()))
    assert asyncio.run(sqlite_store.latest("run")) == StoredCheckpoint(
        step=0, checkpoint=checkpoint()
    )


def test_a_loop_that_was_closed_under_its_call_harms_nobody(
    sqlite_store: SQLiteCheckpointStore, start_worker: Start, tmp_path: Path
) -> None:
    asyncio.run(sqlite_store.save("run", 0, checkpoint()))
    holder = start_worker("hold", tmp_path / "runs.db")
    holder.hear()
    loop = asyncio.new_event_loop()
    call = sqlite_store.save("run", 1, checkpoint("left behind"))
    task = loop.create_task(call)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    holder.go()
    asyncio.run(sqlite_store.save("other", 0, checkpoint()))
    assert asyncio.run(sqlite_store.position("run")) == (1, 0)
    call.close()
