"""What parking, deciding and consuming make of what is stored: pure, one home for every store."""

from dataclasses import replace
from datetime import datetime

from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest, same_decision
from agent_adapter.errors import ApprovalConflict, ToolUsageError


def check_same_call(standing: ApprovalRequest, request: ApprovalRequest) -> None:
    """Nothing, when both ask about the same call.

    Raises:
        ApprovalConflict: the tool or the arguments are others.
    """
    if (standing.tool, standing.digest) != (request.tool, request.digest):
        raise ApprovalConflict(
            f"request {request.id!r} was parked for another call of {standing.tool!r}"
        )


def decided(
    stored: StoredApproval | None, request_id: str, decision: ApprovalDecision, now: datetime
) -> StoredApproval:
    """What stands once `decision` was made: the same object when an equal one was made before.

    Raises:
        ToolUsageError: no such request.
        ApprovalConflict: it was decided differently, or it has expired.
    """
    known = _known(stored, request_id)
    if known.decision is None:
        if has_expired(known.request, now):
            raise ApprovalConflict(f"request {request_id!r} has expired")
        return replace(known, decision=decision)
    if not same_decision(known.decision, decision):
        raise ApprovalConflict(f"request {request_id!r} was decided differently")
    return known


def consumed(
    stored: StoredApproval | None, request_id: str, consumer: str
) -> tuple[StoredApproval, ApprovalDecision]:
    """What stands once `consumer` used the decision, and the decision.

    Raises:
        ToolUsageError: no such request.
        ApprovalConflict: it is undecided, or another consumer used the decision.
    """
    known = _known(stored, request_id)
    if known.decision is None:
        raise ApprovalConflict(f"request {request_id!r} is not decided yet")
    if known.consumer is None:
        return replace(known, consumer=consumer), known.decision
    if known.consumer != consumer:
        raise ApprovalConflict(f"request {request_id!r}: its decision was used already")
    return known, known.decision


def has_expired(request: ApprovalRequest, now: datetime) -> bool:
    """Whether no decision on it is taken any more."""
    return request.expires_at is not None and now >= request.expires_at


def check_name(what: str, name: object) -> None:
    """Nothing, when `name` can be the id of a request or name a consumer.

    Raises:
        ToolUsageError: it is not a string, is empty, or holds a lone surrogate.
    """
    if not isinstance(name, str) or not name:
        raise ToolUsageError(f"{what} must be a str that is not empty, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ToolUsageError(f"{what} has a lone surrogate: {name!r}") from None


def check_request(request: object) -> None:
    """Nothing, when `request` can be stored by name, tool and digest.

    Raises:
        ToolUsageError: it is no ApprovalRequest, one of the three is not a name, or a time has no zone.
    """
    if not isinstance(request, ApprovalRequest):
        raise ToolUsageError(f"request must be an ApprovalRequest, not {type(request).__name__}")
    for what in ("id", "tool", "digest"):
        check_name(f"request.{what}", getattr(request, what))
    _check_time("request.created_at", request.created_at)
    if request.expires_at is not None:
        _check_time("request.expires_at", request.expires_at)


def _check_time(what: str, time: object) -> None:
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise ToolUsageError(f"{what} must be a datetime with a time zone, not {time!r}")


def _known(stored: StoredApproval | None, request_id: str) -> StoredApproval:
    if stored is None:
        raise ToolUsageError(f"no approval request {request_id!r} is stored")
    return stored
