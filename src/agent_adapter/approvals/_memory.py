"""MemoryApprovalStore: an ApprovalStore that lives as long as the process."""

import threading
from collections.abc import Callable
from datetime import datetime

from agent_adapter.approvals import _rules as rules
from agent_adapter.approvals._plain import (
    copy_of_decision,
    copy_of_request,
    stored_from_plain,
    stored_to_plain,
)
from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest, now


class MemoryApprovalStore:
    """ApprovalStore in a dict, for every loop and thread of one process."""

    def __init__(self, *, clock: Callable[[], datetime] = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stored: dict[str, StoredApproval] = {}

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        """What stands for this request; see `ApprovalStore.park`."""
        rules.check_request(request)
        mine = copy_of_request(request)
        with self._lock:
            stored = self._stored.setdefault(mine.id, StoredApproval(mine))
        rules.check_same_call(stored.request, mine)
        return _copy(stored)

    async def get(self, request_id: str) -> StoredApproval | None:
        """What is stored under this id, or None."""
        rules.check_name("request_id", request_id)
        with self._lock:
            stored = self._stored.get(request_id)
        return None if stored is None else _copy(stored)

    async def decide(self, request_id: str, decision: ApprovalDecision) -> StoredApproval:
        """Store the decision; see `ApprovalStore.decide`."""
        rules.check_name("request_id", request_id)
        mine = copy_of_decision(decision)
        with self._lock:
            stored = rules.decided(self._stored.get(request_id), request_id, mine, self._clock())
            self._stored[request_id] = stored
        return _copy(stored)

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        """The decision, for this consumer alone; see `ApprovalStore.consume`."""
        rules.check_name("request_id", request_id)
        rules.check_name("consumer", consumer)
        with self._lock:
            stored, decision = rules.consumed(self._stored.get(request_id), request_id, consumer)
            self._stored[request_id] = stored
        return copy_of_decision(decision)

    async def list_pending(self) -> list[ApprovalRequest]:
        """Every request that can still be decided, in the order in which they were parked."""
        with self._lock:
            waiting = [s.request for s in self._stored.values() if s.decision is None]
        at = self._clock()
        return [copy_of_request(each) for each in waiting if not rules.has_expired(each, at)]


def _copy(stored: StoredApproval) -> StoredApproval:
    return stored_from_plain(stored_to_plain(stored))
