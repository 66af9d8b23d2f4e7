"""Claiming apart from running: what plans and loops build on."""

import pytest

from agent_adapter import Executor, Registry, ToolCall, ToolUsageError, tool
from agent_adapter.exec.integration import make_journal, visit_scope


@tool
async def work(x: int = 1) -> int:
    return x


async def test_a_call_may_be_claimed_in_another_journal_under_a_name_of_its_own():
    """For plans: the steps have names, and come in any order."""
    executor, journal = Executor(Registry([work])), make_journal()
    child = journal.child("plan")
    claimed = executor.claim(ToolCall("c", "work", {"x": 2}), step="one", journal=child)
    (result,) = await executor.run_claimed([claimed])
    assert result.value == 2
    again = make_journal(journal.data()).child("plan")
    claimed = executor.claim(ToolCall("c", "work", {"x": 2}), step="one", journal=again)
    (replayed,) = await executor.run_claimed([claimed])
    assert (replayed.value, replayed.replayed) == (2, True)


async def test_claims_keep_the_order_of_the_program_whatever_runs_first():
    executor, journal = Executor(Registry([work])), make_journal()
    with visit_scope(None, journal):
        first, second = (executor.claim(ToolCall(name, "work")) for name in "ab")
    assert [claimed.place.slot.occurrence for claimed in (first, second)] == [0, 1]
    results = await executor.run_claimed([second, first], 1)
    assert [result.call_id for result in results] == ["b", "a"]


async def test_what_cannot_start_has_its_result_at_once():
    claimed = Executor().claim(ToolCall("c", "missing"))
    assert claimed.error.kind == "not_found"
    assert await Executor().run_claimed([claimed]) == [claimed]


async def test_something_that_is_no_call_is_refused():
    with pytest.raises(ToolUsageError, match="is no ToolCall"):
        Executor().claim({"name": "work"})
