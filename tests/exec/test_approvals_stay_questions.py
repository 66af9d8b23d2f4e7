"""A call that a person was shown stays a question for that person, whatever the tool would say by then."""

from typing import Any

import pytest
from tests.exec.loop_kit import NO, Lab, ask, said

from agent_adapter import (
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    StoreApprovals,
    Tool,
    ToolCall,
    tool,
)
from agent_adapter.exec.integration import make_journal, visit_scope

ADMIN = RunContext(user="admin")
TEN = ApprovalDecision(approved=True, edits={"cents": 10})


def wire_tool(ran: list[int]) -> Tool:
    @tool(confirm=lambda _, ctx: ctx.user != "admin")
    async def wire(cents: int) -> str:
        ran.append(cents)
        return f"wired {cents}"

    return wire


@pytest.mark.parametrize(
    ("decision", "told", "effects"),
    [
        (NO, "ToolDenied: denied by bob: too dear", []),
        (TEN, "wired 10", [10]),
    ],
    ids=["denied", "edited"],
)
async def test_a_decision_counts_when_the_tool_would_ask_nobody_any_more(
    store, decision, told, effects
):
    """Items 116, 118: recovered for a user for whom `confirm` says no; the decision is not lost."""
    lab, ran = Lab(store), []
    lab.tools = Registry([wire_tool(ran)])
    lab.play([ask("wire", cents=500)], "end")
    await lab.run()
    await lab.decide(decision)
    result = await lab.recover(ctx=ADMIN)
    assert ran == effects
    assert [text for role, text in said(result) if role == "tool"] == [told]


async def test_an_undecided_call_waits_on_when_the_tool_would_ask_nobody_any_more(store):
    """Item 113."""
    lab, ran = Lab(store), []
    lab.tools = Registry([wire_tool(ran)])
    lab.play([ask("wire", cents=500)], "end")
    first = await lab.run()
    again = await lab.recover(ctx=ADMIN)
    assert (again.status, ran) == ("paused", [])
    assert [each.id for each in again.pending] == [each.id for each in first.pending]


@pytest.mark.parametrize(
    ("decision", "status", "effects"),
    [(NO, "denied", []), (TEN, "ok", [10])],
    ids=["denied", "edited"],
)
async def test_a_decision_counts_in_a_plain_visit_too(decision, status, effects):
    """Items 116, 118."""
    ran: list[Any] = []
    store = MemoryApprovalStore()
    executor = Executor(Registry([wire_tool(ran)]), approvals=StoreApprovals(store))
    call = ToolCall("a", "wire", {"cents": 500})
    journal = make_journal()
    with visit_scope(None, journal):
        asked = await executor.run_call(call)
    await store.decide(asked.approval, decision)
    with visit_scope(None, make_journal(journal.data())):
        result = await executor.run_call(call, ADMIN)
    assert (asked.status, result.status, ran) == ("pending", status, effects)
