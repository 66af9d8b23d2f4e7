"""Approval by a person: requests, decisions, and where they wait for each other."""

from agent_adapter.approvals._memory import MemoryApprovalStore
from agent_adapter.approvals._port import (
    ApprovalPort,
    ApprovalStore,
    StoredApproval,
    approval_store,
)
from agent_adapter.approvals._sqlite import SQLiteApprovalStore
from agent_adapter.approvals._store_approvals import StoreApprovals
from agent_adapter.approvals._types import (
    AnswerEntry,
    ApprovalDecision,
    ApprovalRequest,
    ResumeAnswer,
    same_decision,
)

__all__ = [
    "AnswerEntry",
    "ApprovalDecision",
    "ApprovalPort",
    "ApprovalRequest",
    "ApprovalStore",
    "MemoryApprovalStore",
    "ResumeAnswer",
    "SQLiteApprovalStore",
    "StoreApprovals",
    "StoredApproval",
    "approval_store",
    "same_decision",
]
