"""The values with which the contract of approval stores is written."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from agent_adapter.approvals import ApprovalDecision, ApprovalRequest

LONG_AGO = datetime(2001, 2, 3, 4, 5, 6, 789, UTC)
FAR_AHEAD = datetime(9000, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))

YES = ApprovalDecision(approved=True, decided_by="ann", reason="is fine", decided_at=LONG_AGO)
NO = ApprovalDecision(approved=False, decided_by="bob", reason="is not", decided_at=LONG_AGO)


def approval_request(request_id: str = "r1", **fields: Any) -> ApprovalRequest:
    """A request for `charge` of which every field is set and which does not expire, with `fields` in their place."""
    given: dict[str, Any] = {
        "tool": "charge",
        "arguments": {"amount": 5},
        "digest": "d1",
        "call_id": "call-1",
        "run_id": "run",
        "path": "worker/0",
        "reason": "costs money",
        "created_at": LONG_AGO,
    }
    return ApprovalRequest(id=request_id, **{**given, **fields})


def nested(levels: int) -> Any:
    """A value `levels` containers deep, dicts and lists in turn."""
    value: Any = "core"
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value
