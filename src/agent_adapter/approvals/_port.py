"""ApprovalPort and ApprovalStore: how a person is asked, and where requests and decisions are kept."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agent_adapter.approvals._types import ApprovalDecision, ApprovalRequest
from agent_adapter.context import RunContext


@dataclass(frozen=True)
class StoredApproval:
    """What a store holds about one request: the decision once there is one, the consumer once it is used."""

    request: ApprovalRequest
    decision: ApprovalDecision | None = None
    consumer: str | None = None


@runtime_checkable
class ApprovalStore(Protocol):
    """Where parked requests wait: the first decision stands, and it is used once.

    A store that others can write to seals what it keeps: any method raises `CheckpointStoreCorrupt` for what was changed.
    """

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        """What stands for this request; parking it again changes nothing.

        Raises:
            ApprovalConflict: the id stands for another tool or other arguments.
            ToolUsageError: a name is empty or no text, a time has no zone; NotSealable: the arguments are not plain.
        """

    async def get(self, request_id: str) -> StoredApproval | None:
        """What is stored under this id, or None."""

    async def decide(self, request_id: str, decision: ApprovalDecision) -> StoredApproval:
        """Store the decision; the same one again is fine.

        Raises:
            ToolUsageError: no such request, or a time without a zone; NotSealable: the edits have no exact form.
            ApprovalConflict: it was decided differently, or it has expired.
        """

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        """The decision, for this consumer alone; the same consumer may ask again.

        Raises:
            ToolUsageError: no such request.
            ApprovalConflict: it is undecided, or another consumer used the decision.
        """

    async def list_pending(self) -> list[ApprovalRequest]:
        """Every request that can still be decided, in the order in which they were parked."""


class ApprovalPort(Protocol):
    """How a person is asked. A port that keeps its requests has them in `store`."""

    async def request(self, request: ApprovalRequest, ctx: RunContext) -> ApprovalDecision | None:
        """The decision, or None: the request is parked and the decision comes later.

        Any error means that the call does not run; control flow passes through.
        """


def approval_store(port: object) -> ApprovalStore | None:
    """The port's `store`, or None when it has none."""
    store = getattr(port, "store", None)
    return store if isinstance(store, ApprovalStore) else None
