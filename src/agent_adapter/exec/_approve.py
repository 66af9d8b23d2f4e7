"""Approval of one call: does somebody have to look, what did they decide, and does exactly that run."""

import uuid
from dataclasses import dataclass

from agent_adapter._canonical import digest
from agent_adapter.approvals import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStore,
    approval_store,
    same_decision,
)
from agent_adapter.calls import ToolResult
from agent_adapter.errors import ApprovalConflict, NotSealable
from agent_adapter.exec._answers import consumer_of, settle_own
from agent_adapter.exec._claimed import (
    Claimed,
    Place,
    escapes,
    escapes_approval,
    settled,
)
from agent_adapter.exec._guarding import guard_again
from agent_adapter.exec._shown import edited, shown_to_person

_EVERY = "the tool asks for every call of it"
_THIS = "the tool asks for this call"


@dataclass(frozen=True)
class _Decided:
    """A decision, and the store in which it has to be used up before the body runs."""

    decision: ApprovalDecision
    store: ApprovalStore | None = None


async def approve(claimed: Claimed) -> ToolResult | None:
    """None when the call may run with the arguments that stand then; else how it ends: denied, invalid, or pending.

    Raises:
        ApprovalConflict: the decision was used for another call, or somebody decided differently.
    """
    asks = await _asks(claimed)
    if asks is not True:
        return asks or None
    try:
        shown = claimed.encoded()
    except NotSealable as exc:
        return claimed.denied(f"its arguments cannot be shown to a person: {exc}", exc)
    request = _request(claimed, shown)
    if request.digest != digest(shown):
        return claimed.denied("its arguments are not the ones that were approved")
    decided = await _decide(claimed, request)
    if isinstance(decided, ToolResult):
        return decided
    return await _carry_out(claimed, request, decided)


async def _asks(claimed: Claimed) -> ToolResult | bool:
    """Whether a person has to decide; the denial when nobody can say."""
    confirm = claimed.tool.confirm
    shown = claimed.place is not None and claimed.place.slot.asked
    if claimed.resumed is not None or shown:
        return True
    if isinstance(confirm, bool):
        return confirm
    try:
        asks = await settled(confirm(dict(claimed.arguments), claimed.ctx))
    except Exception as exc:  # `confirm` is the tool's code; without its answer nobody said yes
        if escapes(exc):
            raise
        return claimed.denied(f"its confirm failed: {type(exc).__name__}", exc)
    if isinstance(asks, bool):
        return asks
    return claimed.denied(f"its confirm answered {type(asks).__name__}, not True or False")


def _request(claimed: Claimed, shown: object) -> ApprovalRequest:
    if claimed.resumed is not None:
        return claimed.resumed.request
    place = claimed.place
    mark = digest(shown)
    request_id, run_id = (
        place.journal.request_of(place.slot, mark) if place else (uuid.uuid4().hex, None)
    )
    return ApprovalRequest(
        id=request_id,
        tool=claimed.tool.name,
        arguments=shown_to_person(claimed.tool, claimed.arguments, shown),
        digest=mark,
        call_id=claimed.call.id,
        run_id=run_id,
        path=place.slot.path if place else "",
        reason=_EVERY if claimed.tool.confirm is True else _THIS,
    )


async def _decide(claimed: Claimed, request: ApprovalRequest) -> _Decided | ToolResult:
    """What was decided, wherever that is known first; else how the call ends."""
    if claimed.resumed is not None:
        return _Decided(claimed.resumed.decision, approval_store(claimed.policies.approvals))
    if claimed.place is not None:
        known = await _known(claimed, claimed.place, request)
        if known is not None:
            return _Decided(known)
    return await _ask(claimed, request)


async def _known(
    claimed: Claimed, place: Place, request: ApprovalRequest
) -> ApprovalDecision | None:
    """What the visit brings, or its record holds; that is used up there."""
    entry = place.answer.take(request) if place.answer is not None else None
    if entry is None:
        return await place.journal.decide(place.slot, request)
    _, decision, own = entry
    if own:
        await settle_own(claimed.policies, request, decision)
    return decision


async def _ask(claimed: Claimed, request: ApprovalRequest) -> _Decided | ToolResult:
    port = claimed.policies.approvals
    if port is None:
        return await _park(claimed, request)
    try:
        answer: object = await port.request(request, claimed.ctx)
        if answer is None and (store := approval_store(port)) is not None:
            # As it is stored: with the instant up to which it can be decided, for example.
            stored = await store.get(request.id)
            request = request if stored is None else stored.request
    except Exception as exc:  # nobody could be asked, so nobody said yes
        if escapes_approval(exc) or claimed.place is not None:
            # Nobody said no either: a run stays as it is, and asks again when it is recovered.
            raise
        return claimed.denied(f"the approval port failed: {type(exc).__name__}", exc)
    if answer is None:
        return await _park(claimed, request)
    if isinstance(answer, ApprovalDecision):
        return _Decided(answer, approval_store(port))
    return claimed.denied(
        f"the approval port {type(port).__name__} answered {type(answer).__name__}, "
        "not a decision or None"
    )


async def _park(claimed: Claimed, request: ApprovalRequest) -> ToolResult:
    if claimed.place is not None:
        await claimed.place.journal.park(claimed.place.slot, request)
    return claimed.pending((request,))


async def _carry_out(
    claimed: Claimed, request: ApprovalRequest, decided: _Decided
) -> ToolResult | None:
    decision = decided.decision
    if claimed.place is not None:
        claimed.place.slot.decision = decision
    if not decision.approved:
        return claimed.denied(_why(decision))
    if decision.edits is None:
        # Whoever holds a list that was handed in could have changed it while a person looked.
        if digest(claimed.encoded()) != request.digest:
            return claimed.denied("its arguments changed while a person looked at them")
    else:
        try:
            claimed.arguments = edited(
                claimed.tool,
                decision.edits,
                shown=request.arguments,
                arguments=claimed.arguments,
                encoded=claimed.encoded(),
            )
        except Exception as exc:  # a validator is the tool's code; its errors become the result
            if escapes(exc):
                raise
            return claimed.failed("invalid", exc)
        refused = await guard_again(claimed)
        if refused is not None:
            return refused
    return await _use_up(claimed, request, decided)


async def _use_up(
    claimed: Claimed, request: ApprovalRequest, decided: _Decided
) -> ToolResult | None:
    """None once the decision is this call's alone."""
    if decided.store is None:
        return None
    resumed, place = claimed.resumed, claimed.place
    consumer = resumed.consumer if resumed else consumer_of(request)
    if resumed is not None and place is not None:
        # The call that resumes it, never the worker: whoever recovers that call may go on with it.
        consumer = f"{consumer_of(request)}@{place.journal.life}/{place.slot.key}"
    try:
        stored = await decided.store.consume(request.id, consumer)
        same = same_decision(stored, decided.decision)
    except Exception as exc:  # without the store nobody knows that this is the only use
        if escapes_approval(exc) or resumed is not None or claimed.place is not None:
            raise
        return claimed.denied(f"the approval store failed: {type(exc).__name__}", exc)
    if not same:
        raise ApprovalConflict(f"request {request.id!r} was decided differently")
    return None


def _why(decision: ApprovalDecision) -> str:
    by = f" by {decision.decided_by}" if decision.decided_by else ""
    return f"denied{by}: {decision.reason}" if decision.reason else f"denied{by}"
