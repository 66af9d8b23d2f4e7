"""Executor.resume: a parked call is decided by its request id and runs once (items 26 and 27)."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    ConfigError,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    ToolCall,
    ToolUsageError,
    tool,
)
from agent_adapter.approvals import ApprovalRequest
from agent_adapter.exec.integration import digest, encode
from agent_adapter.policies import Deny, Replace

YES = ApprovalDecision(approved=True, decided_by="ada", reason="fine")


class Bench:
    """A tool `pay` that needs approval, a store, and as many executors as one wants."""

    def __init__(self, *guards: Any) -> None:
        self.store = MemoryApprovalStore()
        self.ran: list[Any] = []

        @tool(confirm=True)
        async def pay(
            amount: int, due: datetime | None = None, ctx: RunContext | None = None
        ) -> str:
            await asyncio.sleep(0)
            self.ran.append((amount, due, ctx.user))
            return f"paid {amount}"

        self.tool = pay
        self.guards = guards
        self.executor = self.another()

    def another(self, *tools: Any) -> Executor:
        return Executor(Registry(tools or [self.tool]), approvals=self, guards=self.guards)

    async def request(self, request, ctx):
        return (await self.store.park(request)).decision

    async def park(self, **arguments: Any) -> str:
        result = await self.executor.run_call(ToolCall("c1", "pay", {"amount": 5, **arguments}))
        assert result.status == "pending"
        return result.approval


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("decision", [True, YES], ids=["True", "a decision"])
async def test_an_approved_call_runs_with_what_was_shown_and_the_given_context(bench, decision):
    due = datetime(2024, 5, 1, tzinfo=UTC)
    parked = await bench.park(due=due)
    result = await bench.executor.resume(
        parked, decision, RunContext(user="eve"), decided_by="bob", reason="checked"
    )
    assert (result.status, result.value, result.call_id) == ("ok", "paid 5", "c1")
    assert bench.ran == [(5, due, "eve")]
    stored = (await bench.store.get(parked)).decision
    assert (stored.approved, stored.decided_by, stored.reason) == (True, "bob", "checked")


async def test_a_denied_call_never_runs(bench):
    """Item 118."""
    parked = await bench.park()
    result = await bench.executor.resume(parked, False, reason="too much")
    assert (result.status, result.error.message, bench.ran) == ("denied", "denied: too much", [])
    with pytest.raises(ApprovalConflict):
        await bench.executor.resume(parked, True)
    assert bench.ran == []


async def test_a_decision_that_is_stored_already_is_used(bench):
    parked = await bench.park()
    await bench.store.decide(parked, YES)
    assert (await bench.executor.resume(parked)).value == "paid 5"


async def test_without_any_decision_nothing_runs(bench):
    """Items 26 and 120: None never approves."""
    parked = await bench.park()
    with pytest.raises(ToolUsageError, match=f"{parked}' is not decided"):
        await bench.executor.resume(parked)
    assert bench.ran == []
    assert (await bench.store.get(parked)).decision is None


@pytest.mark.parametrize("decision", [1, "yes", {"approved": True}], ids=repr)
async def test_what_is_no_decision_decides_nothing(bench, decision):
    parked = await bench.park()
    with pytest.raises(ToolUsageError, match="nothing was decided"):
        await bench.executor.resume(parked, decision)
    assert (bench.ran, (await bench.store.get(parked)).decision) == ([], None)


async def test_of_resumes_that_race_one_runs_the_call(bench):
    """Item 26: one body, and the others get ApprovalConflict."""
    parked = await bench.park()
    executors = [bench.another() for _ in range(4)]
    outcomes = await asyncio.gather(
        *(executor.resume(parked, True) for executor in executors), return_exceptions=True
    )
    assert len(bench.ran) == 1
    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        *["ApprovalConflict"] * 3,
        "ToolResult",
    ]


async def test_a_call_that_ran_is_not_run_again(bench):
    parked = await bench.park()
    await bench.executor.resume(parked, True)
    with pytest.raises(ApprovalConflict, match="used already"):
        await bench.executor.resume(parked, True)
    assert len(bench.ran) == 1


async def test_edited_arguments_are_the_ones_that_run(bench):
    """Item 27."""
    parked = await bench.park()
    decision = ApprovalDecision(approved=True, edits={"amount": "3"})
    assert (await bench.executor.resume(parked, decision)).value == "paid 3"


async def test_edits_that_do_not_fit_decide_nothing_and_run_nothing(bench):
    """Item 27."""
    parked = await bench.park()
    decision = ApprovalDecision(approved=True, edits={"amount": "much"})
    result = await bench.executor.resume(parked, decision)
    assert (result.status, result.error.kind, bench.ran) == ("error", "invalid", [])
    assert (await bench.store.get(parked)).decision is None
    assert (await bench.executor.resume(parked, True)).value == "paid 5"


async def test_an_unknown_request_is_refused(bench):
    with pytest.raises(ToolUsageError, match="no approval request 'nobody'"):
        await bench.executor.resume("nobody", True)


async def test_without_a_store_there_is_nothing_to_resume():
    with pytest.raises(ConfigError, match=r"Executor\(approvals=…\)"):
        await Executor().resume("any", True)


def parked_by(**changed: Any) -> ApprovalRequest:
    given = {
        "id": "r1",
        "tool": "pay",
        "arguments": {"amount": 5, "due": None},
        "digest": digest(encode({"amount": 5, "due": None})),
    }
    return ApprovalRequest(**{**given, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"run_id": "run-7"}, "parked by run 'run-7': recover the run"),
        ({"tool": "gone"}, "no tool named 'gone'"),
        ({"arguments": {"amount": 6, "due": None}}, "makes other arguments"),
        ({"arguments": {"amount": "much"}}, "cannot take the stored arguments"),
        ({"arguments": {"amount": {"$model": {}}}}, "cannot take the stored arguments"),
    ],
    ids=["of a run", "tool gone", "other arguments", "no longer valid", "no stored form"],
)
async def test_a_request_that_cannot_be_carried_out_is_refused_before_anything_is_decided(
    bench, changed, message
):
    await bench.store.park(parked_by(**changed))
    with pytest.raises(ToolUsageError, match=message):
        await bench.executor.resume("r1", True)
    assert (bench.ran, (await bench.store.get("r1")).decision) == ([], None)


async def test_the_request_as_the_executor_parks_it_can_be_carried_out(bench):
    """The one above is refused for what was changed in it, and for nothing else."""
    await bench.store.park(parked_by())
    assert (await bench.executor.resume("r1", True)).value == "paid 5"


async def test_guards_have_their_say_when_the_call_runs_at_last():
    verdicts = [None, Deny("not any more")]
    bench = Bench(lambda call, ctx: verdicts.pop(0))
    parked = await bench.park()
    result = await bench.executor.resume(parked, True)
    assert (result.status, result.error.message, bench.ran) == ("denied", "not any more", [])


async def test_a_guard_that_now_changes_the_arguments_runs_nothing():
    """Item 117: what was shown is what runs."""
    verdicts = [None, Replace({"amount": 6})]
    bench = Bench(lambda call, ctx: verdicts.pop(0))
    parked = await bench.park()
    result = await bench.executor.resume(parked, True)
    assert (result.status, bench.ran) == ("denied", [])
    assert "not the ones that were approved" in result.error.message
