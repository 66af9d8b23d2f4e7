"""Approvals in one SQLite file, used and left by several processes: races, kills, and what the next one reads."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from agent_adapter.approvals import ApprovalDecision, SQLiteApprovalStore, StoredApproval
from agent_adapter.testing.approvals import approval_request

SCRIPT = Path(__file__).with_name("worker.py")
ARGUMENTS = {"amount": 5}
UNDECIDED = [ARGUMENTS, None, None]
DECIDED = [ARGUMENTS, {"amount": 3}, None]
USED = [ARGUMENTS, {"amount": 3}, "call a"]


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, SCRIPT, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(*arguments: object) -> Any:
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def test_of_two_processes_one_decides_and_one_uses_each_decision(file: Path) -> None:
    """Item 26: each request has one verdict and one consumer, whoever comes first; the file is made in the race."""
    workers = [start("race", file, name, 100) for name in "ab"]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == '"ready"\n'
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    outcomes = [json.loads(worker.communicate()[0]) for worker in workers]
    for place in (0, 1):
        assert [a[place] + b[place] for a, b in zip(*outcomes, strict=True)] == [1] * 100


@pytest.mark.parametrize(
    ("task", "before", "after"),
    [("park", None, UNDECIDED), ("decide", UNDECIDED, DECIDED), ("consume", DECIDED, USED)],
)
def test_a_kill_at_any_statement_leaves_all_or_nothing(
    tmp_path: Path, task: str, before: Any, after: Any
) -> None:
    """Item 115: what stood before stands, and the same task then succeeds: nothing is half done, nothing is lost."""
    *killed, (status, survived) = said("die_at_each_statement", tmp_path, task)
    assert len(killed) >= 4
    assert killed == [[signal.SIGKILL, [before, after, "ok"]]] * len(killed)
    assert (status, survived) == (0, [after, after, "ok"])


async def test_what_was_answered_before_a_kill_is_stored(
    file: Path, sqlite_approvals: SQLiteApprovalStore
) -> None:
    """Item 115: a decision and its use outlive the process from the moment in which they return."""
    await sqlite_approvals.park(approval_request())
    worker = start("answer_and_die", file)
    words, _ = worker.communicate()
    assert (words.split(), worker.returncode) == (['"decided"', '"used"'], -signal.SIGKILL)
    stored = await sqlite_approvals.get("r1")
    assert stored is not None
    assert stored.decision is not None
    assert (stored.decision.edits, stored.consumer) == ({"amount": 3}, "call a")


async def test_another_process_reads_every_value_exactly(
    file: Path, sqlite_approvals: SQLiteApprovalStore
) -> None:
    """Item 118: arguments, edits, who, why and the instants with their zones are the ones that were given."""
    request = approval_request(
        arguments={
            "text": "Straße \x00 🚀 \ud800",
            "deep": [[{"a": [1, 1.0, True, None, 10**30]}]],
        },
        created_at=datetime(2030, 1, 2, 3, 4, 5, 678901, ZoneInfo("Europe/Berlin")),
        expires_at=datetime(9000, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    )
    decision = ApprovalDecision(
        approved=True,
        edits={"text": "\x00", "n": [0.1, -0.0]},
        decided_by="Bób <b@example.org>",
        reason="weil\nes 🚀 stimmt",
        decided_at=datetime(2030, 1, 2, tzinfo=UTC),
    )
    await sqlite_approvals.park(request)
    await sqlite_approvals.decide("r1", decision)
    await sqlite_approvals.consume("r1", "call a")
    times = [request.created_at, request.expires_at, decision.decided_at]
    assert said("show", file, "r1") == [
        repr(StoredApproval(request, decision, "call a")),
        [repr(time) for time in times],
    ]


async def test_a_request_that_waited_for_years_is_intact(file: Path) -> None:
    """Item 123: without an end of its own a request never runs out, and can be decided and used."""
    parked_at = datetime(2000, 1, 1, tzinfo=UTC)
    request = approval_request(created_at=parked_at)
    await SQLiteApprovalStore(file, clock=lambda: parked_at).park(request)
    later = SQLiteApprovalStore(file, clock=lambda: parked_at + timedelta(days=365 * 100))
    assert await later.list_pending() == [request]
    decision = ApprovalDecision(approved=True, decided_by="ann")
    await later.decide("r1", decision)
    assert await later.consume("r1", "call a") == decision


async def test_an_end_is_judged_by_the_stores_clock(file: Path) -> None:
    """The last instant before `expires_at` decides, `expires_at` itself does not."""
    end = datetime(2030, 1, 1, tzinfo=UTC)
    moments = iter([end - timedelta(microseconds=1), end, end])
    store = SQLiteApprovalStore(file, clock=lambda: next(moments))
    request = approval_request(expires_at=end)
    for request_id in ("r1", "r2"):
        await store.park(replace(request, id=request_id))
    await store.decide("r1", ApprovalDecision(approved=True))
    with pytest.raises(Exception, match="'r2' has expired"):
        await store.decide("r2", ApprovalDecision(approved=True))
    assert await store.list_pending() == []
