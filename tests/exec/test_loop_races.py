"""Workers that race for one run in random orders: however they meet, nothing happens twice and somebody ends it."""

import asyncio
import random
from collections import Counter

import pytest
from tests.exec.loop_kit import RUN, Lab, Tape, ask

from agent_adapter import CheckpointConflict, RecoveryNeedsDecision
from agent_adapter.exec import Happened
from agent_adapter.exec.checkpoints import MemoryCheckpointStore

REFUSALS = (CheckpointConflict, RecoveryNeedsDecision)


def worker(lab, name, **states):
    """The store as another process sees it."""
    tape = Tape(lab.store, owner=name)
    tape.states = states
    return tape


def dice(seed, spread):
    """A wait of a random number of turns of the event loop before each write."""
    chance = random.Random(seed)  # noqa: S311 - a schedule, no secret

    async def before(what):
        for _ in range(chance.randrange(spread)):
            await asyncio.sleep(0)

    return before


async def race(lab, seed):
    """One worker and two that recover its run, all at once; then whoever is left ends it."""
    chance = random.Random(seed)  # noqa: S311 - a schedule, no secret

    async def work(cents):
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    lab.inside["charge"] = work
    lab.play(
        [ask("charge", "a", cents=1), ask("charge", "b", cents=1)], [ask("charge", cents=2)], "done"
    )
    workers = [worker(lab, name, a="alive", b="alive", c="alive") for name in "abc"]
    for number, each in enumerate(workers):
        each.before = dice(f"{seed}/{number}", 6)
    begun = asyncio.Event()
    workers[0].after = lambda what: begun.set()
    tasks = [asyncio.create_task(lab.run(checkpoints=workers[0]))]
    await begun.wait()
    for each in workers[1:]:
        for _ in range(chance.randrange(30)):
            await asyncio.sleep(0)
        tasks.append(asyncio.create_task(lab.recover(checkpoints=each)))
    if chance.random() < 0.3:
        tasks[0].cancel()
    await asyncio.wait(tasks)
    ends = [task.exception() for task in tasks if not task.cancelled()]
    assert all(end is None or isinstance(end, REFUSALS) for end in ends), ends
    if await lab.status() == "running":
        try:
            await lab.recover()
        except RecoveryNeedsDecision as needed:
            assert tasks[0].cancelled()
            await lab.recover(
                decisions={call.question_id: Happened("looked up") for call in needed.calls}
            )
    assert await lab.status() == "done"
    assert max(Counter(lab.keys).values()) == 1
    return Counter(type(end).__name__ for end in ends)


@pytest.mark.timeout(180)
async def test_no_interleaving_of_workers_runs_a_body_twice():
    """Item 99"""
    ends = Counter()
    for seed in range(500):
        ends += await race(Lab(MemoryCheckpointStore()), seed)
    assert min(ends[name] for name in ("NoneType", "CheckpointConflict")) > 100
    assert ends["RecoveryNeedsDecision"] > 10


@pytest.mark.timeout(180)
async def test_no_interleaving_of_workers_on_a_file_runs_a_body_twice(sqlite_store):
    """Item 99"""
    for seed in range(20):
        await race(Lab(sqlite_store), seed)
        await sqlite_store.delete(RUN)
