"""What a resume brings: decisions as an answer for the visit, and their use in the executor's own store."""

from collections.abc import Iterable
from typing import Protocol

from agent_adapter.approvals import (
    AnswerEntry,
    ApprovalDecision,
    ApprovalPort,
    ApprovalRequest,
    ApprovalStore,
    ResumeAnswer,
    approval_store,
)

Pending = tuple[ApprovalRequest, ApprovalStore | None]


class HasApprovals(Protocol):
    """An executor, as far as approvals go."""

    @property
    def approvals(self) -> ApprovalPort | None:
        """How a person is asked."""


def make_answer(entries: Iterable[AnswerEntry]) -> ResumeAnswer:
    """The answer of a resume: each entry is `(request, decision, own)` and good for the one call that was shown.

    `own` says that the executor's own store holds the request, so that using the decision has to be noted there.

    Raises:
        ApprovalConflict: two entries decide one request differently.
    """
    return ResumeAnswer(entries)


async def settle_own(
    executor: HasApprovals, request: ApprovalRequest, decision: ApprovalDecision
) -> None:
    """Decide and use up the request in the executor's own store; nothing where that store does not hold it.

    Raises:
        ApprovalConflict: it was decided differently, or the decision was used for another call.
    """
    store = approval_store(executor.approvals)
    if store is None or await store.get(request.id) is None:
        return
    await store.decide(request.id, decision)
    await store.consume(request.id, consumer_of(request))


def consumer_of(request: ApprovalRequest) -> str:
    """Who uses the decision: the call, never a worker, so that whoever resumes after a crash may use it too."""
    return f"{request.run_id or ''}/{request.path}{request.tool}:{request.digest}:{request.id}"
