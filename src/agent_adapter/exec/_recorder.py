"""LedgerRecorder: keeps the calls of a journal in a ledger, from the look before any policy to the record of the end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from agent_adapter._canonical import decode, encode, reachable_types
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.errors import ToolUsageError
from agent_adapter.exec._asked import ClaimLost
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._entering import Replay
from agent_adapter.exec._entries import CallId
from agent_adapter.exec._flights import linger
from agent_adapter.exec._gather import ended
from agent_adapter.exec._journal_data import from_entry, to_entry
from agent_adapter.exec._slot import Slot
from agent_adapter.policies import ToolPolicy

Enter = Callable[[CallId, ToolPolicy], Awaitable[Replay | Attempt]]

# An agent's calls are protected one by one: the agent around them may always be entered again.
_CONTAINER = ToolPolicy(idempotent=True)


class LedgerRecorder:
    """A `Recorder` whose record is a ledger.

    Args:
        enter: the way into one call of the ledger, `lambda call, policy: ledger.enter(call, policy=policy)` for example.
        run_id: the durable run that the calls belong to.
        life: see `Recorder`.
        identify: which call a slot stands for.
        before_asking: waited for before the executor asks a person.
    """

    def __init__(
        self,
        enter: Enter,
        *,
        run_id: str,
        life: str,
        identify: Callable[[Slot], CallId],
        before_asking: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.run_id = run_id
        self.life = life
        self._enter = enter
        self._identify = identify
        self._before_asking = before_asking
        self._attempts: dict[Slot, Attempt] = {}
        self._open: set[Slot] = set()
        self._parked: set[Slot] = set()
        self._lingering: set[Slot] = set()
        self._requests: dict[Slot, ApprovalRequest] = {}

    async def look(self, slot: Slot) -> ToolResult | None:
        """The recorded result; None when the call is not over, and then this worker has the right to run it.

        Raises:
            Asked: only a person can say what became of the call.
            CheckpointConflict: another worker has the run.
        """
        policy = _CONTAINER if slot.container else slot.policy
        entered = await self._enter(self._identify(slot), policy)
        if isinstance(entered, Replay):
            return _replayed(slot, entered.outcome)
        self._attempts[slot] = entered
        self._open.add(slot)
        slot.idempotency_key = entered.idempotency_key
        slot.asked = entered.gate.asked_before
        # A loop that is closed while the call runs has ended it, without a chance to say so.
        entered.bind(asyncio.get_running_loop())
        return None

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """What an earlier attempt of the call was let in with; None: the executor's own port is asked."""
        self._requests[slot] = request
        known = self._attempts[slot].gate.approval(request.id)
        if known is None:
            if self._before_asking is not None:
                await self._before_asking()
            return None
        # A tool of ours says which classes its arguments may be.
        classes = reachable_types(getattr(slot.policy, "parameters", None))
        edits = None if known["edits"] is None else decode(known["edits"], known=classes)
        return ApprovalDecision(
            approved=True, edits=edits, decided_by=known["by"], reason=known["reason"]
        )

    async def park(self, slot: Slot, request: ApprovalRequest) -> None:
        """Record that the call waits for a person."""
        self._check_doubt(self._attempts[slot])
        await self._attempts[slot].hold(request.id, request.arguments)
        self._parked.add(slot)

    async def started(self, slot: Slot) -> ToolResult | None:
        """None once it is stored that the body begins; a result when another worker was faster."""
        while True:
            attempt = self._attempts[slot]
            self._note_decision(slot, attempt)
            given = slot.arguments if slot.given is None else slot.given
            # A cancelled caller must not leave a call that is begun in the record and nowhere else.
            starting = asyncio.create_task(attempt.start(given))
            try:
                await asyncio.shield(starting)
            except ClaimLost:
                attempt.land()
                self._open.discard(slot)
                # Not a subclass's `look`: whatever it puts around this one stands around `started` already.
                if (result := await LedgerRecorder.look(self, slot)) is not None:
                    return result
            except BaseException as error:
                await ended([starting], shield=True)
                if not starting.cancelled() and starting.exception() is None:
                    await attempt.undo(error)
                    self._open.discard(slot)
                    attempt.land()
                raise
            else:
                return None

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Record how the call ended."""
        attempt = self._attempts.get(slot)
        if attempt is None or slot not in self._open:
            return
        self._open.discard(slot)
        try:
            self._check_doubt(attempt)
            # Lost only by a call that may run twice, to a worker that was faster: both outcomes are true.
            with suppress(ClaimLost):
                await self._record(attempt, slot, result)
        finally:
            attempt.land()

    @staticmethod
    def _check_doubt(attempt: Attempt) -> None:
        """Nothing, unless a policy stopped a call that may have taken effect before: that is still the question."""
        if attempt.doubtful and not attempt.started:
            raise attempt.ask_again()

    async def _record(self, attempt: Attempt, slot: Slot, result: ToolResult) -> None:
        if result.status == "pending":
            if slot not in self._parked and attempt.stored:
                await attempt.contain()
        elif result.status == "cancelled":
            await attempt.fail("cancelled", result.cause or RuntimeError("cancelled"))
        else:
            self._note_decision(slot, attempt)
            if isinstance(slot.kept, dict) and "unrecordable" not in slot.kept:
                try:
                    await attempt.finish({"kind": "journaled", "entry": slot.kept})
                except ToolUsageError as refused:
                    # Too large for any store, for example.
                    await attempt.unrecordable(str(refused))
            else:
                await attempt.unrecordable(str(slot.kept))

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """Record that the call ended without a result: what began is in doubt, what did not may run."""
        attempt = self._attempts.get(slot)
        if attempt is None or slot not in self._open:
            return
        self._open.discard(slot)
        await self._left(slot, attempt, error)

    async def leave_open(self, error: BaseException) -> None:
        """The visit ends while calls are under way that nobody waits for any more: as if each had ended with this."""
        for slot in list(self._open):
            await self.leave(slot, error)

    def pauses(self, error: BaseException) -> bool:
        """Whether a call that ends with this error is entered again whenever it is met; otherwise it is in doubt."""
        del error
        return False

    def attempt(self, slot: Slot) -> Attempt:
        """The right to run the slot's call, between `look` and its end."""
        return self._attempts[slot]

    async def _left(self, slot: Slot, attempt: Attempt, error: BaseException) -> None:
        try:
            if attempt.stored and slot.running is not None and slot.running():
                # The record goes on saying that this worker is at it, which is true; `late` records the end.
                self._lingering.add(slot)
                linger(attempt.nonce, partial(self._lingers, slot, asyncio.get_running_loop()))
            elif attempt.stored and slot.running is None:
                # The record says that the body begins, and it has not.
                await attempt.undo(error)
            elif attempt.stored or (attempt.started and not slot.container):
                with suppress(ClaimLost):
                    if slot.container or self.pauses(error):
                        await attempt.contain()
                    else:
                        await attempt.fail("cancelled", error)
        finally:
            attempt.land()

    async def late(self, slot: Slot, result: ToolResult) -> None:
        """Keep beside the record how a body ended that was given up."""
        if (attempt := self._attempts.get(slot)) is not None:
            outcome = {
                "kind": "journaled",
                "entry": to_entry(result, slot.returns, None, None, slot.spent),
            }
            if slot not in self._lingering:
                await attempt.keep_late(outcome)
                return
            try:
                if "unrecordable" in outcome["entry"]:
                    await attempt.unrecordable(str(outcome["entry"]))
                else:
                    await attempt.finish(outcome)
            finally:
                self._lingering.discard(slot)

    def _lingers(self, slot: Slot, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the body's thread runs, or its end is still on the way to the record."""
        in_thread = slot.running is not None and slot.running()
        return in_thread or (slot in self._lingering and not loop.is_closed())

    def _note_decision(self, slot: Slot, attempt: Attempt) -> None:
        decision, request = slot.decision, self._requests.get(slot)
        if decision is not None and request is not None:
            attempt.gate.decided(
                request.id,
                request.arguments,
                {
                    "approved": decision.approved,
                    "edits": None if decision.edits is None else encode(dict(decision.edits)),
                    "by": decision.decided_by,
                    "reason": decision.reason,
                },
            )


def _replayed(slot: Slot, outcome: Any) -> ToolResult:
    """The recorded outcome as the executor's result."""
    if outcome["kind"] == "journaled":
        slot.kept = outcome["entry"]
        slot.spent = slot.kept.get("spent", {})
    elif outcome["happened"]:
        slot.kept = {"value": outcome["value"]}
    else:
        reason = outcome["value"] or "a person decided that this call is not run"
        error = {"kind": "denied", "type": "DoNotRun", "message": reason}
        slot.kept = {"status": "denied", "error": error}
    return from_entry(slot.kept, slot.tool, slot.returns, None)
