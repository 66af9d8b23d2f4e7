"""The tree of errors: whose turn it is can be caught by branch, and each error says its facts."""

import copy

import pytest

from agent_adapter import errors
from agent_adapter.errors import (
    AgentAdapterError,
    CheckpointConflict,
    CheckpointError,
    CheckpointNotFound,
    CheckpointStoreCorrupt,
    DoubtfulCall,
    MissingDependency,
    NotSealable,
    RecoveryNeedsDecision,
    RunLimitExceeded,
    ToolArgumentsInvalid,
    ToolFailed,
    ToolNotFound,
    ToolTimeout,
    ToolUsageError,
)

BRANCHES = {
    "AgentDepthExceeded": RunLimitExceeded,
    "ApprovalPending": ToolFailed,
    "ToolDenied": ToolFailed,
    "ApprovalConflict": AgentAdapterError,
    "CheckpointConflict": CheckpointError,
    "CheckpointError": AgentAdapterError,
    "CheckpointNotFound": CheckpointError,
    "CheckpointStoreCorrupt": CheckpointError,
    "ConfigError": AgentAdapterError,
    "MissingDependency": AgentAdapterError,
    "ModelError": AgentAdapterError,
    "NotSealable": ToolUsageError,
    "RecoveryNeedsDecision": CheckpointError,
    "RunLimitExceeded": AgentAdapterError,
    "ToolArgumentsInvalid": ToolFailed,
    "ToolFailed": AgentAdapterError,
    "ToolNotFound": ToolFailed,
    "ToolTimeout": ToolFailed,
    "ToolUsageError": AgentAdapterError,
}


def test_every_error_has_its_place_in_the_tree() -> None:
    found = {
        name: value.__bases__[0]
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, AgentAdapterError)
    }
    assert found == {**BRANCHES, "AgentAdapterError": Exception}


DOUBT = DoubtfulCall(
    question_id="q1",
    tool="charge",
    arguments={"cents": 5},
    key="charge:0",
    idempotency_key="k",
    owner_known_dead=True,
)
DECIDE = (
    "run 'run': in doubt: charge (question q1; its worker is known to be dead). "
    "Answer each with Rerun(), Happened(value) or DoNotRun(reason), or declare the tool idempotent"
)
SAID = [
    (NotSealable("$.a[0]", "builtins.object"), "$.a[0]: builtins.object has no exact stored form"),
    (
        MissingDependency("sqlalchemy", extra="sqlalchemy"),
        "sqlalchemy is not installed: pip install agent-adapter[sqlalchemy]",
    ),
    (ToolFailed("charge", "c1", "boom"), "tool 'charge' (call c1): boom"),
    (ToolNotFound("charge", "c1", "gone"), "tool 'charge' (call c1): gone"),
    (
        ToolArgumentsInvalid("charge", "c1", "cents: missing"),
        "tool 'charge' (call c1): cents: missing",
    ),
    (ToolTimeout("charge", "c1", "after 5 s"), "tool 'charge' (call c1): after 5 s"),
    (CheckpointNotFound("run"), "run 'run': nothing is stored"),
    (CheckpointConflict("run", "it moved"), "run 'run': it moved"),
    (CheckpointStoreCorrupt("run", "no seal"), "run 'run': no seal"),
    (
        RecoveryNeedsDecision("run", [DOUBT]),
        DECIDE,
    ),
]
said = pytest.mark.parametrize(("error", "text"), SAID, ids=[type(e).__name__ for e, _ in SAID])


@said
def test_an_error_says_its_facts(error: AgentAdapterError, text: str) -> None:
    assert str(error) == text


@said
def test_a_copy_says_the_same(error: AgentAdapterError, text: str) -> None:
    """Pools of processes and some event loops make copies of the errors that they hand over."""
    again = copy.copy(error)
    assert (type(again), str(again), vars(again)) == (type(error), text, vars(error))


def test_a_missing_library_is_an_import_error_too() -> None:
    """Item 4, the error."""
    with pytest.raises(ImportError, match=r"agent-adapter\[redis\]"):
        raise MissingDependency("redis", extra="redis")
