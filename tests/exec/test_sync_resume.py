"""Executor.resume_sync: a parked call is decided and run once, for callers without a loop (item 26)."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    SQLiteApprovalStore,
    StoreApprovals,
    ToolCall,
    ToolUsageError,
    tool,
)


class Desk:
    """A tool that a person has to approve, and the store in which its calls wait."""

    def __init__(self) -> None:
        self.store = MemoryApprovalStore()
        self.paid: list[tuple[int, str | None]] = []

        @tool(confirm=True)
        def pay(amount: int, ctx: RunContext) -> str:
            self.paid.append((amount, ctx.user))
            return f"paid {amount}"

        self.executor = Executor(Registry([pay]), approvals=self)

    async def request(self, request, ctx):
        await self.store.park(request)

    def park(self) -> str:
        result = self.executor.run_call_sync(ToolCall("c", "pay", {"amount": 5}))
        assert (result.status, self.paid) == ("pending", [])
        return result.approval


def test_an_approved_call_runs_with_the_given_context():
    desk = Desk()
    parked = desk.park()
    result = desk.executor.resume_sync(
        parked, True, RunContext(user="ada"), decided_by="bob", reason="fine"
    )
    assert (result.value, desk.paid) == ("paid 5", [(5, "ada")])
    decision = asyncio.run(desk.store.get(parked)).decision
    assert (decision.approved, decision.decided_by, decision.reason) == (True, "bob", "fine")


def test_a_decision_with_edits_runs_with_them():
    desk = Desk()
    decision = ApprovalDecision(approved=True, edits={"amount": 3})
    assert desk.executor.resume_sync(desk.park(), decision).value == "paid 3"


def test_without_a_decision_nothing_runs():
    """Item 26."""
    desk = Desk()
    parked = desk.park()
    with pytest.raises(ToolUsageError):
        desk.executor.resume_sync(parked)
    assert desk.paid == []
    assert desk.executor.resume_sync(parked, True).ok


def test_of_threads_that_race_for_one_request_one_runs_it():
    """Item 26."""
    desk = Desk()
    parked = desk.park()
    outcomes: list[object] = []
    together = threading.Barrier(4)

    def resume() -> None:
        together.wait()
        try:
            outcomes.append(desk.executor.resume_sync(parked, True).value)
        except ApprovalConflict as exc:
            outcomes.append(type(exc))

    threads = [threading.Thread(target=resume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("paid 5") == 1
    assert outcomes.count(ApprovalConflict) == 3
    assert desk.paid == [(5, None)]


def shared_desk(directory: Path) -> Executor:
    """An executor as every process makes it; its tool leaves a line in a file."""

    @tool(confirm=True)
    def pay(amount: int) -> str:
        with (directory / "paid").open("a") as paid:
            paid.write(f"{amount}\n")
        return f"paid {amount}"

    store = SQLiteApprovalStore(directory / "approvals.db")
    return Executor(Registry([pay]), approvals=StoreApprovals(store))


RAN, REFUSED = 10, 20


def test_of_processes_that_race_for_one_request_one_runs_it(tmp_path):
    """Item 26."""
    parked = shared_desk(tmp_path).run_call_sync(ToolCall("c", "pay", {"amount": 5})).approval
    held, gate = os.pipe()
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                os.close(gate)
                executor = shared_desk(tmp_path)
                os.read(held, 1)  # ends when the parent lets go
                try:
                    executor.resume_sync(parked, True, timeout=20)
                except ApprovalConflict:
                    os._exit(REFUSED)
                os._exit(RAN)
            finally:
                os._exit(1)
        children.append(child)
    os.close(gate)
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(held)
    assert sorted(ended) == [RAN, REFUSED]
    assert (tmp_path / "paid").read_text() == "5\n"
