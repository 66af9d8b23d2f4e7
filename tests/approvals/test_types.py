"""Requests, decisions and answers."""

from datetime import UTC, datetime

import pytest

from agent_adapter import ApprovalDecision, ApprovalRequest, NotSealable, ToolUsageError
from agent_adapter.approvals import MemoryApprovalStore
from agent_adapter.exec.integration import approval_store, same_decision

YES = ApprovalDecision(approved=True)
NO = ApprovalDecision(approved=False)


@pytest.mark.parametrize("approved", [1, "yes", "false", None, []])
def test_nothing_that_merely_looks_true_approves(approved):
    with pytest.raises(ToolUsageError, match="approved is True or False"):
        ApprovalDecision(approved=approved)


def test_a_denial_with_edits_is_refused():
    with pytest.raises(ToolUsageError, match="cannot bring edited arguments"):
        ApprovalDecision(approved=False, edits={"amount": 1})


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (ApprovalDecision(approved=True, decided_by="ann", reason="ok"), YES, True),
        (ApprovalDecision(approved=True, decided_at=datetime(2020, 1, 1, tzinfo=UTC)), YES, True),
        (YES, NO, False),
        (YES, ApprovalDecision(approved=True, edits={}), False),
        (
            ApprovalDecision(approved=True, edits={"a": [1, {"b": 2}], "c": 3}),
            ApprovalDecision(approved=True, edits={"c": 3, "a": [1, {"b": 2}]}),
            True,
        ),
        (
            ApprovalDecision(approved=True, edits={"a": [1, {"b": 2}]}),
            ApprovalDecision(approved=True, edits={"a": [1, {"b": 3}]}),
            False,
        ),
        (
            ApprovalDecision(approved=True, edits={"a": 1}),
            ApprovalDecision(approved=True, edits={"a": True}),
            False,
        ),
    ],
)
def test_decisions_are_the_same_by_verdict_and_edits_alone(left, right, same):
    """Item 145."""
    assert same_decision(left, right) is same
    assert same_decision(right, left) is same


def test_edits_that_cannot_be_compared_exactly_are_refused():
    odd = ApprovalDecision(approved=True, edits={"a": object()})
    with pytest.raises(NotSealable):
        same_decision(odd, odd)


def test_the_store_of_a_port_is_found_only_where_there_is_one():
    """Item 144."""

    class Port:
        def __init__(self, store=None):
            self.store = store

    store = MemoryApprovalStore()
    assert approval_store(Port(store)) is store
    assert approval_store(Port(None)) is None
    assert approval_store(Port("a store")) is None
    assert approval_store(object()) is None
    assert approval_store(None) is None


def test_requests_are_equal_whenever_they_were_made():
    def request() -> ApprovalRequest:
        return ApprovalRequest(id="r", tool="t", arguments={}, digest="d")

    assert request() == request()
