"""make_answer and settle_own, items 141 and 142."""

from dataclasses import replace

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    ApprovalRequest,
    Executor,
    MemoryApprovalStore,
)
from agent_adapter.exec.integration import AnswerEntry, Pending, make_answer, settle_own

REQUEST = ApprovalRequest(
    id="r1", tool="charge", arguments={"amount": 5}, digest="d1", run_id="run"
)
YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)


class Port:
    def __init__(self, store: MemoryApprovalStore | None) -> None:
        self.store = store

    async def request(self, request, ctx):
        raise AssertionError("nobody is asked here")


def test_an_entry_answers_its_request_once():
    """Item 141."""
    entry: AnswerEntry = (REQUEST, YES, True)
    answer = make_answer([entry])
    assert answer.take(REQUEST) == entry
    assert answer.take(REQUEST) is None


@pytest.mark.parametrize("changed", [{"id": "r2"}, {"tool": "refund"}, {"digest": "d2"}])
def test_a_request_that_was_not_shown_is_not_answered(changed):
    """Item 141."""
    answer = make_answer([(REQUEST, YES, False)])
    assert answer.take(replace(REQUEST, **changed)) is None
    assert answer.take(REQUEST) is not None


def test_two_decisions_of_one_request_are_refused_and_the_same_one_twice_is_one():
    with pytest.raises(ApprovalConflict, match="two different ways"):
        make_answer([(REQUEST, YES, True), (REQUEST, NO, True)])
    answer = make_answer([(REQUEST, YES, True), (REQUEST, YES, True)])
    assert answer.take(REQUEST) is not None
    assert answer.take(REQUEST) is None


async def test_the_own_store_notes_the_decision_and_its_use():
    """Item 142."""
    store = MemoryApprovalStore()
    executor = Executor(approvals=Port(store))
    pending: Pending = ((await store.park(REQUEST)).request, store)
    await settle_own(executor, pending[0], YES)
    await settle_own(executor, pending[0], YES)
    stored = await store.get("r1")
    assert stored.decision == YES
    with pytest.raises(ApprovalConflict, match="used already"):
        await store.consume("r1", "another call")


async def test_a_request_that_the_own_store_does_not_hold_is_left_alone():
    """Item 142."""
    store = MemoryApprovalStore()
    for executor in (Executor(), Executor(approvals=Port(None)), Executor(approvals=Port(store))):
        await settle_own(executor, REQUEST, YES)
    assert await store.get("r1") is None


async def test_a_different_stored_decision_is_a_conflict():
    """Item 142."""
    store = MemoryApprovalStore()
    await store.park(REQUEST)
    await store.decide("r1", NO)
    with pytest.raises(ApprovalConflict, match="decided differently"):
        await settle_own(Executor(approvals=Port(store)), REQUEST, YES)
