"""MemoryApprovalStore: an ApprovalStore that lives as long as the process."""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from agent_adapter.approvals._port import StoredApproval
from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest, now, same_decision
from agent_adapter.errors import ApprovalConflict, ToolUsageError


class MemoryApprovalStore:
    """ApprovalStore in a dict, for every loop and thread of one process."""

    def __init__(self, *, clock: Callable[[], datetime] = now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stored: dict[str, StoredApproval] = {}

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        """What stands for this request; see `ApprovalStore.park`."""
        with self._lock:
            stored = self._stored.setdefault(request.id, deepcopy(StoredApproval(request)))
        standing = stored.request
        if (standing.tool, standing.digest) != (request.tool, request.digest):
            raise ApprovalConflict(
                f"request {request.id!r} was parked for another call of {standing.tool!r}"
            )
        return deepcopy(stored)

    async def get(self, request_id: str) -> StoredApproval | None:
        """What is stored under this id, or None."""
        with self._lock:
            return deepcopy(self._stored.get(request_id))

    async def decide(self, request_id: str, decision: ApprovalDecision) -> StoredApproval:
        """Store the decision; see `ApprovalStore.decide`."""
        with self._lock:
            stored = self._known(request_id)
            if stored.decision is None:
                if self._expired(stored.request):
                    raise ApprovalConflict(f"request {request_id!r} has expired")
                stored = self._stored[request_id] = replace(stored, decision=deepcopy(decision))
            elif not same_decision(stored.decision, decision):
                raise ApprovalConflict(f"request {request_id!r} was decided differently")
            return deepcopy(stored)

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        """The decision, for this consumer alone; see `ApprovalStore.consume`."""
        with self._lock:
            stored = self._known(request_id)
            if stored.decision is None:
                raise ApprovalConflict(f"request {request_id!r} is not decided yet")
            if stored.consumer is None:
                self._stored[request_id] = replace(stored, consumer=consumer)
            elif stored.consumer != consumer:
                raise ApprovalConflict(f"request {request_id!r}: its decision was used already")
            return deepcopy(stored.decision)

    async def list_pending(self) -> list[ApprovalRequest]:
        """Every request that can still be decided, in the order in which they were parked."""
        with self._lock:
            waiting = [s.request for s in self._stored.values() if s.decision is None]
            return deepcopy([request for request in waiting if not self._expired(request)])

    def _known(self, request_id: str) -> StoredApproval:
        if (stored := self._stored.get(request_id)) is None:
            raise ToolUsageError(f"no approval request {request_id!r} is stored")
        return stored

    def _expired(self, request: ApprovalRequest) -> bool:
        return request.expires_at is not None and self._clock() >= request.expires_at
