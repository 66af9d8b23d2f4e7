"""Ledger, real processes on one SQLite file: one body among four, a killed and a stopped owner."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_adapter import CheckpointConflict, ToolPolicy
from agent_adapter.exec._questions import Happened, Rerun
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.exec.integration import Asked, CallId, Ledger, Question, Replay

SCRIPT = Path(__file__).with_name("ledger_worker.py")
CALL = CallId("run", "thread", "k1", "call_1", "charge", "d1", "visit", {"amount": 5})
CAREFUL = ToolPolicy()


class Worker:
    """A running `ledger_worker.py`."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> Any:
        line = self.process.stdout.readline()
        assert line, f"the worker ended with {self.process.wait()}"
        return json.loads(line)

    def go(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Place:
    """A file of runs, the oracle of its tool, and the processes that use both."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "runs.db"
        self.oracle = directory / "oracle"
        self.workers: list[Worker] = []

    def start(self, task: str, *arguments: object) -> Worker:
        self.workers.append(Worker(task, self.path, self.oracle, *arguments))
        return self.workers[-1]

    def effects(self) -> list[str]:
        return self.oracle.read_text().splitlines() if self.oracle.exists() else []

    def ledger(self, **settings: Any) -> Ledger:
        return Ledger(SQLiteCheckpointStore(self.path), **{"claim_wait_s": 0.0, **settings})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for worker in place.workers:
        worker.kill()
        worker.process.stdin.close()
        worker.process.stdout.close()


async def asked(ledger: Ledger) -> Question:
    with pytest.raises(Asked) as caught:
        await ledger.enter(CALL, policy=CAREFUL)
    return caught.value.question


def race(place: Place, policy: str, answer: str = "") -> list[Any]:
    """What each of four processes makes of the call, all at once."""
    workers = [place.start("race", policy, answer) for _ in range(4)]
    assert [worker.hear() for worker in workers] == ["ready"] * 4
    for worker in workers:
        worker.go()
    return [worker.hear() for worker in workers]


def test_four_processes_at_one_call_run_one_body(place):
    """item 97"""
    outcomes = race(place, "careful")
    assert len(place.effects()) == 1
    assert len(set(outcomes)) == 1
    assert outcomes[0].startswith("charged by ")


async def test_four_processes_at_a_repeatable_call_record_one_outcome(place):
    outcomes = await asyncio.to_thread(race, place, "idempotent")
    recorded = await place.ledger().enter(CALL, policy=ToolPolicy(idempotent=True))
    assert recorded.outcome in outcomes
    assert len(set(place.effects())) == 1


async def test_four_processes_with_one_decision_run_one_body_more(place):
    place.start("stall", "after the effect").hear()
    place.workers[0].kill()
    question = await asked(place.ledger())
    outcomes = await asyncio.to_thread(race, place, "careful", question.id)
    assert len(place.effects()) == 2
    assert len(set(outcomes)) == 1


@pytest.mark.parametrize("when", ["before the effect", "after the effect"])
async def test_a_killed_worker_leaves_a_question(place, when):
    """item 86"""
    worker = place.start("stall", when)
    key = worker.hear()
    worker.kill()
    question = await asked(place.ledger())
    assert (question.cause, question.owner_known_dead) == ("died", True)
    assert question.idempotency_key == key
    assert place.effects() == ([key] if when == "after the effect" else [])


async def test_a_living_worker_is_a_conflict_and_then_replayed(place):
    worker = place.start("stall", "after the effect")
    worker.hear()
    with pytest.raises(CheckpointConflict, match="still run by another live worker"):
        await place.ledger().enter(CALL, policy=CAREFUL)
    waiting = asyncio.create_task(place.ledger(claim_wait_s=20.0).enter(CALL, policy=CAREFUL))
    worker.go()
    assert worker.hear() == "recorded"
    assert await waiting == Replay("late")
    assert len(place.effects()) == 1


@pytest.mark.parametrize("decision", [Happened("paid"), Rerun()], ids=repr)
async def test_a_stopped_worker_that_wakes_up_after_the_decision_changes_nothing(place, decision):
    """item 98"""
    worker = place.start("stall", "after the effect")
    worker.hear()
    worker.stop()
    ledger = place.ledger(on_busy="ask")
    question = await asked(ledger)
    assert (question.cause, question.owner_known_dead) == ("busy", False)
    entered = await ledger.enter(CALL, policy=CAREFUL, answers={question.id: decision})
    if isinstance(decision, Rerun):
        await entered.start(CALL.arguments)
        await entered.finish("again")
        entered.land()
        entered = Replay("again")
    worker.process.send_signal(signal.SIGCONT)
    worker.go()
    assert worker.hear() == "late"
    assert await place.ledger().enter(CALL, policy=CAREFUL) == entered
