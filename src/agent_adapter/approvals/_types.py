"""Requests for a person's approval, decisions on them, and the answer that a resumed visit brings. Values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent_adapter._canonical import digest, encode
from agent_adapter.errors import ApprovalConflict, ToolUsageError


def now() -> datetime:
    """The present instant, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """One call that waits for a person. An approval covers exactly these arguments of exactly this call.

    Attributes:
        id: the request's name; inside a run it is derived from the call, so that asking again is the same request.
        tool: the tool's name.
        arguments: the validated arguments, plain.
        digest: of the arguments.
        call_id: the id that the caller gave to the call.
        run_id: the durable run that parked it, None outside one.
        path: where in the run the call stands.
        reason: why somebody has to look.
        created_at: when it was first asked.
        expires_at: after this instant no decision is taken any more.
    """

    id: str
    tool: str
    arguments: Any
    digest: str
    call_id: str = ""
    run_id: str | None = None
    path: str = ""
    reason: str = ""
    created_at: datetime = field(default_factory=now, compare=False)
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalDecision:
    """What a person decided. There is no default: somebody has to say `approved=True`.

    Attributes:
        approved: exactly True or False; nothing that merely looks true approves.
        edits: the arguments to run with instead; only with an approval.
        decided_by: who decided.
        reason: why; a denial's reason is shown to the model.
        decided_at: when.

    Raises:
        ToolUsageError: `approved` is no bool, `decided_by` or `reason` no text, or a denial brings edits.
    """

    approved: bool
    edits: Mapping[str, Any] | None = None
    decided_by: str = ""
    reason: str = ""
    decided_at: datetime = field(default_factory=now, compare=False)

    def __post_init__(self) -> None:
        if type(self.approved) is not bool:
            raise ToolUsageError(f"approved is True or False, not {self.approved!r}")
        for name in ("decided_by", "reason"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise ToolUsageError(f"{name} is a text, not {text!r}")
            # A subclass of str (an enum's member, for example) has no exact stored form.
            object.__setattr__(self, name, str.__str__(text))
        if self.edits is not None and not self.approved:
            raise ToolUsageError("a denial cannot bring edited arguments")


AnswerEntry = tuple[ApprovalRequest, ApprovalDecision, bool]


class ResumeAnswer:
    """Decisions that came with a resume, each good for one call: the one that was shown.

    Raises:
        ApprovalConflict: two entries decide one request differently.
    """

    def __init__(self, entries: Iterable[AnswerEntry] = ()) -> None:
        self._entries: dict[tuple[str, str, str], AnswerEntry] = {}
        for entry in entries:
            request, decision, _ = entry
            standing = self._entries.setdefault(_shown(request), entry)
            if not same_decision(standing[1], decision):
                raise ApprovalConflict(f"request {request.id!r} is decided in two different ways")

    def take(self, request: ApprovalRequest) -> AnswerEntry | None:
        """The entry for this request, tool and digest, once; None when there is none or it was taken."""
        return self._entries.pop(_shown(request), None)


def same_decision(stored: ApprovalDecision, decision: ApprovalDecision) -> bool:
    """Whether both say the same: the same verdict and equal edits. Who said it, when and why does not count.

    Raises:
        NotSealable: edits hold a value that has no exact form to compare.
    """
    if stored.approved is not decision.approved:
        return False
    if stored.edits is None or decision.edits is None:
        return stored.edits is decision.edits
    # By digest: Python's == takes 1, 1.0 and True for equal.
    return digest(encode(dict(stored.edits))) == digest(encode(dict(decision.edits)))


def _shown(request: ApprovalRequest) -> tuple[str, str, str]:
    return request.id, request.tool, request.digest
