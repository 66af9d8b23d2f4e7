"""Durable tool calls for agents: a finished call is answered from the record and never runs a second time."""

from agent_adapter.approvals import (
    ApprovalDecision,
    ApprovalPort,
    ApprovalRequest,
    ApprovalStore,
    MemoryApprovalStore,
)
from agent_adapter.calls import ToolCall, ToolError, ToolResult, ToolSpec
from agent_adapter.context import RunContext
from agent_adapter.errors import (
    AgentAdapterError,
    ApprovalConflict,
    CheckpointConflict,
    CheckpointError,
    CheckpointNotFound,
    CheckpointStoreCorrupt,
    ConfigError,
    DoubtfulCall,
    MissingDependency,
    ModelError,
    NotSealable,
    RecoveryNeedsDecision,
    RunLimitExceeded,
    ToolArgumentsInvalid,
    ToolFailed,
    ToolNotFound,
    ToolTimeout,
    ToolUsageError,
)
from agent_adapter.exec import Executor
from agent_adapter.policies import ToolPolicy
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool, tool

__all__ = [
    "AgentAdapterError",
    "ApprovalConflict",
    "ApprovalDecision",
    "ApprovalPort",
    "ApprovalRequest",
    "ApprovalStore",
    "CheckpointConflict",
    "CheckpointError",
    "CheckpointNotFound",
    "CheckpointStoreCorrupt",
    "ConfigError",
    "DoubtfulCall",
    "Executor",
    "MemoryApprovalStore",
    "MissingDependency",
    "ModelError",
    "NotSealable",
    "RecoveryNeedsDecision",
    "Registry",
    "RunContext",
    "RunLimitExceeded",
    "Tool",
    "ToolArgumentsInvalid",
    "ToolCall",
    "ToolError",
    "ToolFailed",
    "ToolNotFound",
    "ToolPolicy",
    "ToolResult",
    "ToolSpec",
    "ToolTimeout",
    "ToolUsageError",
    "tool",
]
