"""AskingRecorder: a recorder for a framework's own node, whose questions go where the framework asks and not to a port."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from agent_adapter._canonical import encode
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable
from agent_adapter.exec._asked import Asked, ClaimLost
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._gating import EDIT_DOES_NOT_FIT
from agent_adapter.exec._questions import Edited
from agent_adapter.exec._recorder import Enter, LedgerRecorder
from agent_adapter.exec._slot import Slot
from agent_adapter.exec.control import is_control_flow
from agent_adapter.tools import Tool

T = TypeVar("T")


class AskingRecorder(LedgerRecorder):
    """A `Recorder` whose record is a ledger, and whose approvals and calls in doubt become the node's own pause.

    Args:
        enter: the way into one call of the ledger.
        run_id: the durable run that the calls belong to.
        life: see `Recorder`.
        identify: which call a slot stands for.
        gate: whether tools that need approval wait for a person here; otherwise the executor's own port is asked.
        pause: the signal with which a call leaves that waits, for the question and the note of `Asked`; the slot's place
            among the node's calls comes first.
    """

    def __init__(
        self,
        enter: Enter,
        *,
        run_id: str,
        life: str,
        identify: Callable[[Slot], Any],
        gate: bool,
        pause: Callable[[int, Slot, Asked], BaseException],
    ) -> None:
        super().__init__(enter, run_id=run_id, life=life, identify=identify)
        self._gate = gate
        self._pause = pause
        self._places: dict[Slot, int] = {}
        self._found: dict[Slot, ToolResult] = {}

    async def look(self, slot: Slot) -> ToolResult | None:
        """The recorded result; None when the call is not over, and then this worker has the right to run it.

        Raises:
            NotSealable: an argument has no exact stored form; nothing ran.
        """
        self._places.setdefault(slot, len(self._places))
        if slot.digest is None:
            reason = "was called with arguments that have no exact stored form; nothing ran"
            raise NotSealable("$", slot.tool, reason)
        while True:
            try:
                return await self._asking(slot, super().look(slot))
            except ClaimLost:
                continue

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """What a person decided; the node pauses for it where nobody has yet."""
        if not self._gate:
            return None
        while True:
            try:
                return await self._decision(slot, request)
            except ClaimLost:
                # Another worker went on with the call; `started` answers with what it found.
                self.attempt(slot).land()
                if (found := await self.look(slot)) is not None:
                    self._found[slot] = found
                    return ApprovalDecision(approved=True)

    async def _decision(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision:
        attempt = self.attempt(slot)
        note = ""
        verdict = attempt.gate.verdict_on(encode(request.arguments))
        if isinstance(verdict, Edited) and not _accepts(slot, verdict):
            verdict, note = None, EDIT_DOES_NOT_FIT
        if verdict is None and not attempt.decided_again:
            await self._asking(slot, _ask(attempt, request, note))
        edits = dict(verdict.arguments) if isinstance(verdict, Edited) else None
        return ApprovalDecision(approved=True, edits=edits)

    async def started(self, slot: Slot) -> ToolResult | None:
        """None once it is stored that the body begins; a result when another worker was faster."""
        if (found := self._found.pop(slot, None)) is not None:
            return found
        return await self._asking(slot, super().started(slot))

    async def _asking(self, slot: Slot, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives; a question that it asks leaves as the node's pause."""
        try:
            return await work
        except Asked as asked:
            raise self._pause(self._places[slot], slot, asked) from None


async def _ask(attempt: Attempt, request: ApprovalRequest, note: str) -> None:
    raise Asked(await attempt.ask_approval(encode(request.arguments)), note=note)


def _accepts(slot: Slot, edited: Edited) -> bool:
    tool = slot.policy
    if not isinstance(tool, Tool):
        return True
    try:
        tool.validate(edited.arguments)
    except Exception as refused:
        # A validator is the tool's code; what it refuses does not fit.
        if is_control_flow(refused):
            raise
        return False
    return True
