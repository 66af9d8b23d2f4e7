"""Parked: the signal by which a nested loop says that its calls wait for a person."""

from agent_adapter.approvals import ApprovalRequest
from agent_adapter.errors import ApprovalPending


class Parked(BaseException):
    """The work inside a call's body waits for a person, so the call is pending; `except Exception` cannot catch it."""

    def __init__(self, requests: tuple[ApprovalRequest, ...]) -> None:
        super().__init__(requests)
        self.requests = requests


def requests_of(error: BaseException | None) -> tuple[ApprovalRequest, ...] | None:
    """What the error says that somebody has to decide; None when it says anything else (too)."""
    if isinstance(error, Parked | ApprovalPending):
        return error.requests
    if not isinstance(error, BaseExceptionGroup):
        return None
    found = [requests_of(part) for part in error.exceptions]
    return tuple(request for part in found for request in part or ()) if all(found) else None
