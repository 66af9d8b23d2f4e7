"""Ledger, what a call costs: commits in the store's file, and writes through the store's protocol."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent_adapter import ToolPolicy
from agent_adapter.exec._questions import Happened, Rerun
from agent_adapter.exec.integration import Answer

CAREFUL = ToolPolicy()
IDEMPOTENT = ToolPolicy(idempotent=True)
READ_ONLY = ToolPolicy(read_only=True)
POLICIES = pytest.mark.parametrize(
    ("policy", "cost"),
    [(CAREFUL, 2), (IDEMPOTENT, 1), (READ_ONLY, 1)],
    ids=["careful", "idempotent", "read only"],
)


def commits(path: Path) -> int:
    """The transactions in a write-ahead log: the frames that carry the size of the file after a commit."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    page = int.from_bytes(log[8:12], "big")
    frames = range(32, len(log) - 23 - page, 24 + page)
    return sum(int.from_bytes(log[at + 4 : at + 8], "big") > 0 for at in frames)


def counted(fleet, name: str) -> list[str]:
    """A process of that name, and the writes that it makes from now on."""
    writes: list[str] = []

    class Counting(fleet.seat):
        async def save(self, run_id, step, checkpoint):
            writes.append(f"save {step}")
            await super().save(run_id, step, checkpoint)

        async def record_call(self, *arguments):
            raise AssertionError("the ledger never writes without looking")

        async def claim_call(self, run_id, segment, call, seen, *, step=None):
            writes.append(call.state)
            return await super().claim_call(run_id, segment, call, seen, step=step)

    fleet.ledger(name, Counting)
    return writes


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@POLICIES
async def test_a_call_costs_as_many_commits_as_it_has_records(fleet, call, tmp_path, policy, cost):
    """The first call of a run makes the run in the commit of its first record."""
    path = tmp_path / "runs.db"
    await fleet.run("a", replace(call, run=f"{call.run}-0"))
    for n in range(3):
        before = commits(path)
        await fleet.run("a", replace(call, key=f"k{n}"), policy=policy)
        assert commits(path) - before == cost
        await fleet.run("b", replace(call, key=f"k{n}"), policy=policy)
        assert commits(path) - before == cost


@POLICIES
async def test_a_call_writes_no_more_than_its_records(fleet, call, policy, cost):
    writes = counted(fleet, "a")
    await fleet.run("a", call, policy=policy)
    await fleet.run("a", call, policy=policy)
    records = ["started", "done"][-cost:]
    assert writes == ["save 0", *records]
    await fleet.run("a", replace(call, key="k2"), policy=policy)
    assert writes == ["save 0", *records, *records]


async def test_a_pause_and_its_answer_cost_two_more(fleet, call):
    writes = counted(fleet, "a")
    attempt = await fleet.begin("a", call)
    question = await attempt.pause("sure?", None)
    attempt.land()
    await fleet.ask("a", call)
    await fleet.run("a", call, answers={question.id: Answer("yes")})
    assert writes == ["save 0", "started", "pending", "started", "done"]


@pytest.mark.parametrize(
    ("decision", "records"), [(Rerun(), ["started", "done"]), (Happened("paid"), ["done"])]
)
async def test_a_decision_is_stored_with_what_it_decides(fleet, call, decision, records):
    await fleet.die("a", call)
    writes = counted(fleet, "b")
    question = await fleet.ask("b", call)
    await fleet.ask("b", call)
    await fleet.run("b", call, answers={question.id: decision})
    assert writes == ["started", *records]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_calls_at_once_share_their_commits(fleet, call, tmp_path):
    path = tmp_path / "runs.db"
    await fleet.run("a", call)
    before = commits(path)
    calls = [replace(call, key=f"at once {n}") for n in range(50)]
    await asyncio.gather(*(fleet.run("a", one) for one in calls))
    assert commits(path) - before < 50
    assert len(fleet.ran) == 51
