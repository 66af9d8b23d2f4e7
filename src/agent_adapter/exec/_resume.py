"""Resume of a parked call by its request id: everything is checked before anything is decided."""

import uuid
from dataclasses import replace
from typing import Any

from agent_adapter._canonical import decode, digest, encode, reachable_types
from agent_adapter.approvals import (
    ApprovalDecision,
    ApprovalPort,
    ApprovalRequest,
    StoredApproval,
    approval_store,
)
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.errors import ConfigError, NotSealable, ToolUsageError
from agent_adapter.exec._claimed import Resumed, escapes, failed
from agent_adapter.exec._shown import edited
from agent_adapter.registry import Registry
from agent_adapter.tools import InvalidArguments, Tool

Verdict = ApprovalDecision | bool | None


async def decide(
    approvals: ApprovalPort | None,
    registry: Registry,
    approval_id: str,
    verdict: Verdict,
    *,
    decided_by: str,
    reason: str,
) -> tuple[ToolCall, Tool, Resumed] | ToolResult:
    """The call to run and what was decided about it; a result instead when the edits do not fit its tool.

    Raises:
        ConfigError: the port keeps no requests.
        ToolUsageError: nothing is stored under the id, a run parked it, its tool is not registered or takes other
            arguments by now, or nobody has decided; nothing was decided.
        ApprovalConflict: it was decided differently, or has expired.
    """
    store = approval_store(approvals)
    if store is None:
        raise ConfigError(
            "no approval can be resumed: give the executor a port with a store, Executor(approvals=…)"
        )
    stored = await store.get(approval_id)
    if stored is None:
        raise ToolUsageError(f"no approval request {approval_id!r} is stored")
    request = stored.request
    if request.run_id is not None:
        raise ToolUsageError(
            f"request {approval_id!r} was parked by run {request.run_id!r}: recover the run in place of the call"
        )
    tool = registry.get(request.tool)
    if tool is None:
        raise ToolUsageError(f"request {approval_id!r}: there is no tool named {request.tool!r}")
    call = ToolCall(request.call_id or uuid.uuid4().hex, tool.name, _arguments(request, tool))
    given = _decision(stored, verdict, decided_by=decided_by, reason=reason)
    if given.edits is not None:
        try:
            edited(
                tool,
                given.edits,
                shown=request.arguments,
                arguments=call.arguments,
                encoded=encode(dict(call.arguments)),
            )
        except Exception as exc:  # a validator is the tool's code; its errors become the result
            if escapes(exc):
                raise
            return failed(call, "invalid", exc)
    if verdict is not None:
        stored = await store.decide(approval_id, given)
    # What stands in the store counts: it says who decided, and when, although somebody says the same again.
    decision = stored.decision or given
    return call, tool, Resumed(request=request, decision=decision, consumer=uuid.uuid4().hex)


def _decision(
    stored: StoredApproval, verdict: Verdict, *, decided_by: str, reason: str
) -> ApprovalDecision:
    if isinstance(verdict, bool):
        return ApprovalDecision(approved=verdict, decided_by=decided_by, reason=reason)
    if isinstance(verdict, ApprovalDecision):
        return replace(
            verdict,
            decided_by=decided_by or verdict.decided_by,
            reason=reason or verdict.reason,
        )
    if verdict is not None:
        raise ToolUsageError(
            f"a decision is an ApprovalDecision, True or False, not {verdict!r}; nothing was decided"
        )
    if stored.decision is None:
        raise ToolUsageError(f"request {stored.request.id!r} is not decided; nothing ran")
    return stored.decision


def _arguments(request: ApprovalRequest, tool: Tool) -> dict[str, Any]:
    """The arguments that were shown, as the tool gets them: exactly those of the digest."""
    reason = ""
    for read in (_as_shown, _as_stored):
        try:
            arguments = tool.validate(read(request, tool))
            if digest(encode(arguments)) == request.digest:
                return arguments
        except (NotSealable, InvalidArguments) as exc:
            reason = f"cannot take the stored arguments any more: {exc}"
        else:
            reason = "makes other arguments of the stored ones than were shown"
    raise ToolUsageError(f"request {request.id!r}: tool {tool.name!r} {reason}")


def _as_shown(request: ApprovalRequest, tool: Tool) -> Any:
    del tool
    return request.arguments


def _as_stored(request: ApprovalRequest, tool: Tool) -> Any:
    return decode(request.arguments, known=reachable_types(tool.parameters))
