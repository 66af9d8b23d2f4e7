"""Durable: what a loop with a store has beside a plain one: its position, its decisions, and the save that is to come."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._entering import Answers, Replay
from agent_adapter.exec._entries import CallId
from agent_adapter.exec._ledger import Ledger
from agent_adapter.exec._loop_log import LoopLog, Opened, Records
from agent_adapter.exec._loop_state import LoopState
from agent_adapter.exec._loop_store import LoopStore, View
from agent_adapter.exec._recorder import LedgerRecorder
from agent_adapter.exec._saving import Saving
from agent_adapter.exec._slot import Slot
from agent_adapter.policies import ToolPolicy

CLAIM_WAIT_S = 5.0


@dataclass
class Durable:
    """A loop's place in its store.

    Attributes:
        kept: the stored position.
        decisions: what people said about calls in doubt, by question id.
        known: the records of the present turn, as they were read when the run was recovered.
        used: what the run had used when the present turn began; its calls count again when it is met again.
        claim_wait_s: how long another worker that may be alive is waited for; 0 once it has been.
        probes: what the tools' own probes said in this recovery.
        opened: the records whose seal it has checked.
        recovered: the run goes on from what it had `used`.
    """

    kept: LoopStore
    decisions: Answers = field(default_factory=dict)
    known: Records = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    claim_wait_s: float = CLAIM_WAIT_S
    probes: dict[tuple[str, str], Any] = field(default_factory=dict)
    opened: Opened = field(default_factory=dict)
    recovered: bool = False
    _saving: Saving | None = None

    def begin_turn(self, state: LoopState, used: Mapping[str, float], view: View | None) -> None:
        """Make the turn's position ready: it is stored before any of its calls begins or anybody is asked.

        Handed to the store right before the first call's record, it can share that record's commit.
        """
        self.known, self.opened, self.used, self.claim_wait_s = {}, {}, used, CLAIM_WAIT_S
        self._saving = self.kept.saving(state, used, view)

    async def saved(self) -> None:
        """Wait for the turn's position, to its end.

        Raises:
            CheckpointConflict: another worker took the run; and whatever else the save raised.
        """
        if self._saving is not None:
            saving, self._saving = self._saving, None
            await saving.end()

    async def save(self, state: LoopState, used: Mapping[str, float], view: View | None) -> None:
        """Save the position of a loop that ends or pauses."""
        await self.kept.save(state, used, view)

    def recorder(self, turn: int) -> LedgerRecorder:
        """Where the calls of this turn are recorded: one life of the run and one turn is one set of calls."""
        kept = self.kept
        log = LoopLog(
            kept.store,
            kept.ring,
            kept.run_id,
            kept.position,
            known=self.known,
            saving=self._saving,
            opened=self.opened,
        )
        ledger = Ledger(
            kept.store, claim_wait_s=self.claim_wait_s, on_busy="ask", log=log, probes=self.probes
        )
        seed = f"{kept.lineage}/{turn}"

        def enter(call: CallId, policy: ToolPolicy) -> Awaitable[Replay | Attempt]:
            return ledger.enter(call, policy=policy, answers=self.decisions)

        return LedgerRecorder(
            enter,
            run_id=kept.run_id,
            life=f"{kept.run_id}/{seed}",
            identify=lambda slot: call_of(kept.run_id, kept.name, seed, slot),
            # A person must not be shown a call that a crash would make the model think of anew.
            before_asking=log.saved,
        )


def call_of(run_id: str, name: str, seed: str, slot: Slot) -> CallId:
    """Which call of the run a slot is. The seed names the turn, never the step: taking over moves the step."""
    return CallId(
        run=run_id,
        name=name,
        key=slot.key,
        call_id="",
        tool=slot.tool,
        digest=slot.digest or "",
        scope=seed,
        arguments=slot.arguments,
        seed=seed,
    )
