"""Several processes, threads and loops on one SQLite file: items 43, 61 and 62, forks and exits."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec.checkpoints import DurableStore, SQLiteCheckpointStore
from agent_adapter.testing.stores import checkpoint

Start = Callable[..., Any]


def test_four_processes_racing_for_200_runs_have_one_winner_each(
    start_worker: Start, tmp_path: Path
) -> None:
    """item 43, item 62"""
    workers = [start_worker("race", tmp_path / "runs.db", f"worker {n}", 200) for n in range(4)]
    assert [worker.hear() for worker in workers] == ["ready"] * 4
    for worker in workers:
        worker.go()
    won = [worker.hear() for worker in workers]
    for step in (0, 1):
        winners = [sum(outcomes[run][step] for outcomes in won) for run in range(200)]
        assert winners == [1] * 200


def test_threads_and_loops_racing_for_a_step_have_one_winner(store: DurableStore) -> None:
    """item 43, item 61"""
    asyncio.run(store.save("run", 0, checkpoint()))
    together = threading.Barrier(8)

    def take(step: int) -> bool:
        together.wait()
        try:
            asyncio.run(store.save("run", step, checkpoint()))
        except CheckpointConflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for step in range(1, 6):
            assert sorted(pool.map(take, [step] * 8)) == [False] * 7 + [True]


async def test_two_store_objects_on_one_file_see_the_same_runs(tmp_path: Path) -> None:
    first, second = (SQLiteCheckpointStore(tmp_path / "runs.db") for _ in range(2))
    await first.save("run", 0, checkpoint())
    assert await second.position("run") == (0, 0)
    assert first.owner() == second.owner()


def test_forked_children_use_the_store_under_load(start_worker: Start, tmp_path: Path) -> None:
    worker = start_worker("fork_load", tmp_path / "runs.db", 8)
    assert worker.hear() == [400 + 8 * 20, "ok"]


def test_what_was_answered_before_the_exit_is_stored(start_worker: Start, tmp_path: Path) -> None:
    worker = start_worker("leave", tmp_path / "runs.db")
    answered = set(worker.hear())
    assert worker.process.wait() == 0
    rows = sqlite3.connect(tmp_path / "runs.db").execute(
        "SELECT run_id FROM agent_adapter_checkpoints"
    )
    assert answered - {run_id for (run_id,) in rows} == set()
