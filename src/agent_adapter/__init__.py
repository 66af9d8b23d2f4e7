"""Durable tool calls for agents: a finished call is answered from the record and never runs a second time."""

from typing import TYPE_CHECKING

from agent_adapter._lazy import from_homes

if TYPE_CHECKING:
    from agent_adapter.approvals import (
        ApprovalDecision,
        ApprovalPort,
        ApprovalRequest,
        ApprovalStore,
        MemoryApprovalStore,
        SQLiteApprovalStore,
        StoreApprovals,
    )
    from agent_adapter.calls import ToolCall, ToolError, ToolResult, ToolSpec
    from agent_adapter.context import RunContext
    from agent_adapter.errors import (
        AgentAdapterError,
        AgentDepthExceeded,
        ApprovalConflict,
        ApprovalPending,
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
        ToolDenied,
        ToolFailed,
        ToolNotFound,
        ToolTimeout,
        ToolUsageError,
    )
    from agent_adapter.exec import (
        Executor,
        Step,
        acall,
        call,
        configure,
        recover_tool_loop,
        run_tool_loop,
        set_default_executor,
    )
    from agent_adapter.limits import RunLimits
    from agent_adapter.policies import ToolPolicy
    from agent_adapter.registry import Registry
    from agent_adapter.tools import Tool, tool

__all__ = [
    "AgentAdapterError",
    "AgentDepthExceeded",
    "ApprovalConflict",
    "ApprovalDecision",
    "ApprovalPending",
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
    "RunLimits",
    "SQLiteApprovalStore",
    "Step",
    "StoreApprovals",
    "Tool",
    "ToolArgumentsInvalid",
    "ToolCall",
    "ToolDenied",
    "ToolError",
    "ToolFailed",
    "ToolNotFound",
    "ToolPolicy",
    "ToolResult",
    "ToolSpec",
    "ToolTimeout",
    "ToolUsageError",
    "acall",
    "call",
    "configure",
    "recover_tool_loop",
    "run_tool_loop",
    "set_default_executor",
    "tool",
]

__getattr__ = from_homes(
    __name__,
    {
        "agent_adapter.approvals": (
            "ApprovalDecision ApprovalPort ApprovalRequest ApprovalStore MemoryApprovalStore "
            "SQLiteApprovalStore StoreApprovals"
        ),
        "agent_adapter.calls": "ToolCall ToolError ToolResult ToolSpec",
        "agent_adapter.context": "RunContext",
        "agent_adapter.errors": (
            "AgentAdapterError AgentDepthExceeded ApprovalConflict ApprovalPending "
            "CheckpointConflict CheckpointError CheckpointNotFound CheckpointStoreCorrupt "
            "ConfigError DoubtfulCall MissingDependency ModelError NotSealable "
            "RecoveryNeedsDecision RunLimitExceeded ToolArgumentsInvalid ToolDenied "
            "ToolFailed ToolNotFound ToolTimeout ToolUsageError"
        ),
        "agent_adapter.exec": (
            "Executor Step acall call configure recover_tool_loop run_tool_loop "
            "set_default_executor"
        ),
        "agent_adapter.limits": "RunLimits",
        "agent_adapter.policies": "ToolPolicy",
        "agent_adapter.registry": "Registry",
        "agent_adapter.tools": "Tool tool",
    },
)


def __dir__() -> list[str]:
    return __all__
