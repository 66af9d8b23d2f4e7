"""Claimed: one call on its way, with everything that its policies need, and the results that it can have."""

import inspect
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from agent_adapter._canonical import encode
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest, ResumeAnswer
from agent_adapter.calls import ErrorKind, ToolCall, ToolError, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import ApprovalConflict, CheckpointError, RunLimitExceeded
from agent_adapter.exec._journal import Journal
from agent_adapter.exec._policies import Policies
from agent_adapter.exec._slot import Slot
from agent_adapter.exec._visit import Visit
from agent_adapter.exec.control import is_control_flow
from agent_adapter.limits import Meter, StepsUsedUp
from agent_adapter.tools import Tool


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """What a person decided about a parked call before it was claimed.

    Attributes:
        request: what was shown.
        decision: what was decided.
        consumer: who uses the decision up.
    """

    request: ApprovalRequest
    decision: ApprovalDecision
    consumer: str


@dataclass(frozen=True)
class Place:
    """Where a call stands in a visit: its journal, its slot, and the answer that came with the visit."""

    journal: Journal
    slot: Slot
    answer: ResumeAnswer | None


@dataclass(eq=False, kw_only=True)
class Claimed:
    """A call that has its place in the visit's journal (where there is a visit) and may start.

    Attributes:
        call: as it was asked for.
        tool: what is called.
        asked: the arguments as the caller wanted them, validated.
        arguments: the same until a guard or a person puts others in their place; these the body is given.
        ctx: the run that it belongs to.
        meter: on which it counts.
        timeout_s: seconds for each attempt.
        policies: the executor's.
        place: in the visit, None outside one.
        around: the visit around a call that has no place in it.
        resumed: the decision that was made before, None for a call that has to ask.
        parked: the requests that the call waits for, once its result is "pending".
        outcome: the result, from the moment on at which it is known; a cancellation that comes later does not undo it.
    """

    call: ToolCall
    tool: Tool
    asked: Mapping[str, Any]
    arguments: Mapping[str, Any]
    ctx: RunContext
    meter: Meter
    timeout_s: float | None
    policies: Policies
    place: Place | None
    around: Visit | None = None
    resumed: Resumed | None = None
    parked: tuple[ApprovalRequest, ...] = ()
    outcome: ToolResult | None = None

    @property
    def shown(self) -> ToolCall:
        """The call with the arguments that stand now, as guards and hooks get to see it."""
        return ToolCall(self.call.id, self.tool.name, copied(self.arguments))

    def finished(self, value: Any) -> ToolResult:
        """The result of a call that has this value."""
        return ToolResult(call_id=self.call.id, tool=self.tool.name, value=value)

    def failed(self, kind: ErrorKind, cause: BaseException) -> ToolResult:
        """The result of a call that ended with this exception."""
        return failed(self.call, kind, cause)

    def denied(self, why: str, cause: BaseException | None = None) -> ToolResult:
        """The result of a call that was refused."""
        error = ToolError("denied", "ToolDenied", why)
        return ToolResult(
            call_id=self.call.id, tool=self.tool.name, status="denied", error=error, cause=cause
        )

    def pending(self, requests: tuple[ApprovalRequest, ...]) -> ToolResult:
        """The result of a call that waits for these decisions."""
        self.parked = requests
        ids = ", ".join(request.id for request in requests)
        return ToolResult(
            call_id=self.call.id,
            tool=self.tool.name,
            status="pending",
            error=ToolError("pending", "ApprovalPending", f"waits for a person's decision: {ids}"),
            approval=requests[0].id if requests else None,
        )

    def as_own(self, answer: ToolResult) -> ToolResult:
        """A recorded result as this call's."""
        return replace(answer, call_id=self.call.id, tool=self.tool.name)

    def encoded(self) -> Any:
        """The arguments that stand now, in their stored form.

        Raises:
            NotSealable: they have none.
        """
        if self.place is not None:
            return self.place.journal.encoded(self.arguments)
        return encode(dict(self.arguments))


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for somebody who may change them: the body gets what was asked for all the same."""
    try:
        return deepcopy(dict(arguments))
    except Exception:  # noqa: BLE001 - what cannot be copied (a lock, a client) is nobody's to change
        return dict(arguments)


def failed(call: ToolCall, kind: ErrorKind, cause: BaseException) -> ToolResult:
    """The result of a call that ended with this exception."""
    error = ToolError.of(cause, kind=kind)
    return ToolResult(call_id=call.id, tool=call.name, status="error", error=error, cause=cause)


def escapes(exc: BaseException) -> bool:
    """Whether this never becomes a result: control flow, a stored run, a limit of the run, or no ordinary error at all."""
    if isinstance(exc, StepsUsedUp):
        # A limit of the loop that the body ran, not of the run around it.
        return False
    return (
        not isinstance(exc, Exception)
        or isinstance(exc, CheckpointError | RunLimitExceeded)
        or is_control_flow(exc)
    )


def escapes_approval(exc: BaseException) -> bool:
    """The same for whatever asks a person or uses up a decision."""
    return escapes(exc) or isinstance(exc, ApprovalConflict)


async def settled(value: Any) -> Any:
    """The value, awaited where it can be: what users hand in may be sync or async."""
    return await value if inspect.isawaitable(value) else value
