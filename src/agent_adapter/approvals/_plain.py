"""Requests, decisions and what a store holds of them as plain JSON and back: exact, or refused."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from agent_adapter._canonical import decode, encode, ordered
from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest
from agent_adapter.errors import ToolUsageError

VERSION = 1
# Arguments are plain already, and deeper than values that are encoded may be: each of their levels can be two here.
_AS_IT_IS = {"arguments"}

_Check = Callable[[Any], bool]


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_text_or_none(value: object) -> bool:
    return value is None or type(value) is str


def _is_time(value: object) -> bool:
    return type(value) is datetime and value.utcoffset() is not None


_REQUEST: Mapping[str, _Check] = {
    "id": _is_text,
    "tool": _is_text,
    "arguments": lambda _: True,
    "digest": _is_text,
    "call_id": _is_text,
    "run_id": _is_text_or_none,
    "path": _is_text,
    "reason": _is_text,
    "created_at": _is_time,
    "expires_at": lambda value: value is None or _is_time(value),
}
_DECISION: Mapping[str, _Check] = {
    "approved": lambda value: type(value) is bool,
    "edits": lambda value: value is None or type(value) is dict,
    "decided_by": _is_text,
    "reason": _is_text,
    "decided_at": _is_time,
}


def request_to_plain(request: ApprovalRequest) -> dict[str, Any]:
    """The plain JSON form of a request, which shares nothing with it.

    Raises:
        ToolUsageError: a field has another type than its own, or a time has no zone.
        NotSealable: the arguments are not plain JSON.
    """
    return _to_plain("request", {name: getattr(request, name) for name in _REQUEST}, _REQUEST)


def decision_to_plain(decision: object) -> dict[str, Any]:
    """The plain JSON form of a decision, which shares nothing with it.

    Raises:
        ToolUsageError: it is no ApprovalDecision, a field has another type than its own, or a time has no zone.
        NotSealable: the edits hold a value that has no exact form.
    """
    if not isinstance(decision, ApprovalDecision):
        raise ToolUsageError(f"decision must be an ApprovalDecision, not {type(decision).__name__}")
    fields = {name: getattr(decision, name) for name in _DECISION}
    if isinstance(decision.edits, Mapping):
        fields["edits"] = dict(decision.edits)
    return _to_plain("decision", fields, _DECISION)


def request_from_plain(data: object) -> ApprovalRequest:
    """The request of this form.

    Raises:
        ToolUsageError: a field is unknown, missing or of another type; NotSealable is one.
    """
    return ApprovalRequest(**_from_plain("request", data, _REQUEST))


def decision_from_plain(data: object) -> ApprovalDecision:
    """The decision of this form.

    Raises:
        ToolUsageError: a field is unknown, missing or of another type, or a denial has edits; NotSealable is one.
    """
    return ApprovalDecision(**_from_plain("decision", data, _DECISION))


def stored_to_plain(stored: StoredApproval) -> dict[str, Any]:
    """The plain JSON form of all that a store holds about one request.

    Raises:
        ToolUsageError: a part has no such form; NotSealable is one.
    """
    decision = None if stored.decision is None else decision_to_plain(stored.decision)
    return {
        "v": VERSION,
        "request": request_to_plain(stored.request),
        "decision": decision,
        "consumer": stored.consumer,
    }


def copy_of_request(request: ApprovalRequest) -> ApprovalRequest:
    """An equal request that shares nothing with it.

    Raises:
        ToolUsageError: as for `request_to_plain`.
    """
    return request_from_plain(request_to_plain(request))


def copy_of_decision(decision: object) -> ApprovalDecision:
    """An equal decision that shares nothing with it.

    Raises:
        ToolUsageError: as for `decision_to_plain`; NotSealable also for edits that could not be read back.
    """
    return decision_from_plain(decision_to_plain(decision))


def stored_from_plain(data: object) -> StoredApproval:
    """What a store held about one request.

    Raises:
        ToolUsageError: the form is of another version, or a field is unknown, missing or of another type.
    """
    if not isinstance(data, dict) or data.get("v") != VERSION:
        raise ToolUsageError(f"an approval in another format than {VERSION}")
    _check_names("approval", data, {"v", "request", "decision", "consumer"})
    decision, consumer = data["decision"], data["consumer"]
    if not _is_text_or_none(consumer) or (consumer is not None and decision is None):
        raise ToolUsageError("approval.consumer is of the wrong type, or there is no decision")
    return StoredApproval(
        request=request_from_plain(data["request"]),
        decision=None if decision is None else decision_from_plain(decision),
        consumer=consumer,
    )


def _to_plain(what: str, fields: dict[str, Any], checks: Mapping[str, _Check]) -> dict[str, Any]:
    _check_types(what, fields, checks)
    return {
        name: _copied(value) if name in _AS_IT_IS else encode(value)
        for name, value in fields.items()
    }


def _from_plain(what: str, data: object, checks: Mapping[str, _Check]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ToolUsageError(f"{what} must be an object, not {type(data).__name__}")
    _check_names(what, data, checks.keys())
    fields = {
        name: _copied(value) if name in _AS_IT_IS else decode(value) for name, value in data.items()
    }
    _check_types(what, fields, checks)
    return fields


def _copied(plain: object) -> Any:
    return json.loads(ordered(plain))


def _check_names(what: str, data: dict[str, Any], wanted: Any) -> None:
    if wrong := data.keys() ^ wanted:
        raise ToolUsageError(f"{what} has unknown or missing fields: {sorted(wrong)}")


def _check_types(what: str, fields: dict[str, Any], checks: Mapping[str, _Check]) -> None:
    for name, is_right in checks.items():
        if not is_right(fields[name]):
            raise ToolUsageError(
                f"{what}.{name} is of the wrong type ({type(fields[name]).__name__}), or a time without a zone"
            )
