"""The exception that stands for a result without a value. Pure."""

from collections.abc import Mapping, Sequence

from agent_adapter.approvals import ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.errors import (
    ApprovalPending,
    ToolArgumentsInvalid,
    ToolDenied,
    ToolFailed,
    ToolNotFound,
    ToolTimeout,
)

_FAILURES: Mapping[str, type[ToolFailed]] = {
    "not_found": ToolNotFound,
    "invalid": ToolArgumentsInvalid,
    "timeout": ToolTimeout,
    "denied": ToolDenied,
}


def failure_of(result: ToolResult, parked: Sequence[ApprovalRequest]) -> ToolFailed:
    """What `Executor.run` raises for this result; `parked` are the requests that a pending one waits for."""
    if parked:
        return ApprovalPending(result.tool, result.call_id, parked)
    kind = result.error.kind if result.error else ""
    message = str(result.error or result.status)
    return _FAILURES.get(kind, ToolFailed)(result.tool, result.call_id, message)
