"""Entering one call: read its record, ask the table, do the one thing that it says, until the call is over or may run."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent_adapter._canonical import encode
from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._asked import Asked, new_nonce, refuse_other_answer
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._decide import Facts, Owner, Rules, Step, next_step
from agent_adapter.exec._entries import CallId, Entry, branch_key
from agent_adapter.exec._flights import Flight
from agent_adapter.exec._gate import kept_decision, stored_decision
from agent_adapter.exec._probing import ask_probe, word_of
from agent_adapter.exec._questions import (
    Answer,
    Decision,
    DoNotRun,
    Edited,
    Happened,
    Question,
    Rerun,
    answered,
)
from agent_adapter.exec.checkpoints import CallRecord
from agent_adapter.policies import ToolPolicy

if TYPE_CHECKING:
    from agent_adapter.exec._ledger import Ledger

Answers = Mapping[str, Decision]
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True)
class Replay:
    """The call is over: `outcome` is what was recorded, or what a person or the probe said became of it.

    `call_id` is the id under which it was recorded; a second delivery of a named request has other ids.
    """

    outcome: Any
    call_id: str = field(default="", compare=False)


@dataclass(frozen=True)
class _Seen:
    """The record that was read, and what it would ask."""

    record: CallRecord
    entry: Entry
    owner: Owner
    question: Question
    decision: Decision | None
    probed: Any


@dataclass
class Entering:
    """One caller's way into one call; `end` is the whole of it.

    Attributes:
        busy: a worker of this very process is at the call and did not end in time.
    """

    ledger: "Ledger"
    call: CallId
    flight: Flight
    policy: ToolPolicy
    rules: Rules
    answers: Answers
    bare: str
    give_up: float
    busy: bool = False
    pause_s: float = FIRST_PAUSE_S
    _probes: dict[tuple[str, str], Any] = field(init=False)

    def __post_init__(self) -> None:
        known = self.ledger.probes
        self._probes = {} if known is None else known

    async def end(self) -> Replay | Attempt:
        """The call's outcome, or the right to run it; for what is raised see `Ledger.enter`."""
        while True:
            if (entered := await self._look()) is not None:
                return entered

    async def _look(self) -> Replay | Attempt | None:
        found = await self._find()
        if found is None:
            return self._attempt(None, None)
        record, entry = found
        recorded = Facts(
            state=entry.state,
            same=entry.digest == self.call.digest,
            forked=entry.scope != self.call.scope,
        )
        if entry.state == "done" and next_step(recorded, self.rules) is Step.REPLAY:
            # The common way in a recovery; nobody has to be asked, so no question is made.
            return Replay(entry.outcome, entry.call_id)
        owner = "alive" if self.busy else self.ledger.owner_of(entry)
        question = self.ledger.question(self.call, entry, owner, tool=record.tool)
        decision = self.answers.get(question.id) or kept_decision(entry, question)
        probed = self._probes.get((entry.nonce, owner))
        seen = _Seen(record, entry, owner, question, decision, probed)
        facts = Facts(
            state=entry.state,
            same=entry.digest == self.call.digest,
            forked=entry.scope != self.call.scope,
            container=entry.container,
            gated=entry.gated,
            undone=entry.ended == "undone",
            owner=owner,
            waited=self.ledger.clock() >= self.give_up,
            probed=word_of(probed),
            answered=answered(seen.decision),
        )
        return await self._take(next_step(facts, self.rules), seen)

    async def _find(self) -> tuple[CallRecord, Entry] | None:
        if self.rules.on_fork != "replay":
            # A call that this branch of the thread runs for itself has a record of its own, beside the other's.
            branch = branch_key(self.call)
            if (found := await self.ledger.log.find(self.call.run, branch)) is not None:
                self.call = replace(self.call, key=branch)
                return found
        return await self.ledger.log.find(self.call.run, self.call.key)

    async def _take(self, step: Step, seen: _Seen) -> Replay | Attempt | None:
        match step:
            case Step.REPLAY:
                return Replay(seen.entry.outcome, seen.entry.call_id)
            case Step.REENTER if seen.entry.gated:
                verdict = seen.decision if isinstance(seen.decision, Rerun | Edited) else None
                stored = stored_decision(seen.question, verdict) if verdict else None
                return self._attempt(seen.record, seen.entry.but(decision=stored), verdict=verdict)
            case Step.REENTER:
                return self._attempt(seen.record, _answered(seen))
            case Step.BRANCH:
                return await self._branch(seen)
            case Step.SETTLE if (
                seen.entry.state == "done" and seen.entry.digest == self.call.digest
            ):
                return await self._branch(seen)
            case Step.SETTLE:
                said = (
                    seen.decision if isinstance(seen.decision, Happened | DoNotRun) else seen.probed
                )
                return await self._settle(seen, said, seen.record)
            case _:
                await self._hold(step, seen)
                return None

    async def _hold(self, step: Step, seen: _Seen) -> None:
        """Do what has to come before the next look; or raise, where no look will help."""
        if step is Step.PROBE:
            await ask_probe(
                self.policy,
                seen.entry,
                seen.question.idempotency_key,
                owner=seen.owner,
                known=self._probes,
            )
        elif step is Step.WAIT:
            await asyncio.sleep(self.pause_s)
            self.pause_s = min(self.pause_s * 2, LONGEST_PAUSE_S)
        elif step is Step.CONFLICT:
            raise CheckpointConflict(
                self.call.run,
                f"call {self.call.call_id!r} of tool {self.call.tool!r} is still run by another live worker "
                f"({seen.entry.owner}); nothing was started here. Resume again when it has finished or stopped",
            )
        elif (
            not self.ledger.keeps_questions
            or seen.question.asked_with is not None
            or await self._park(seen)
        ):
            raise Asked(seen.question)

    def _attempt(
        self,
        seen: CallRecord | None,
        past: Entry | None,
        decision: Any = None,
        verdict: Rerun | Edited | None = None,
    ) -> Attempt:
        return Attempt(
            self.ledger,
            self.call,
            self.flight,
            self.policy,
            bare=self.bare,
            seen=seen,
            past=past,
            decision=decision,
            verdict=verdict,
        )

    async def _branch(self, seen: _Seen) -> Replay | Attempt | None:
        """What was decided for this branch, under a key of its own; the other branch's record stays."""
        if seen.entry.asked is not None:
            # Answered: the other branch's record asks nothing any more.
            await self.ledger.log.claim(self.call, seen.entry.but(asked=None), seen.record)
        self.call = replace(self.call, key=branch_key(self.call))
        match seen.decision:
            case Happened(value):
                return await self._settle(seen, Happened(value), None)
            case DoNotRun():
                return await self._keep(seen)
            case _:
                return self._attempt(
                    None,
                    None,
                    stored_decision(seen.question, seen.decision) if seen.decision else None,
                )

    async def _keep(self, seen: _Seen) -> Replay | None:
        """The other branch's outcome, recorded as this branch's too: nothing is run again here."""
        kept = self.ledger.fresh(
            self.call,
            state="done",
            outcome=seen.entry.outcome,
            decision=stored_decision(seen.question, seen.decision),
        )
        _, standing, mine = await self.ledger.log.claim(self.call, kept, None)
        if not mine:
            refuse_other_answer(self.call, kept.decision, standing)
            return None
        return Replay(seen.entry.outcome, seen.entry.call_id)

    async def _park(self, seen: _Seen) -> bool:
        """Store that the question is asked; False when the record changed meanwhile and has to be read again."""
        asked = {
            "question": seen.question.id,
            "bare": self.bare,
            "scope": self.call.scope,
            "digest": self.call.digest,
        }
        _, _, mine = await self.ledger.log.claim(
            self.call, seen.entry.but(asked=asked), seen.record
        )
        return mine

    async def _settle(
        self, seen: _Seen, said: Happened | DoNotRun, over: CallRecord | None
    ) -> Replay | None:
        """What was said, recorded over this record as the outcome; None when the record changed meanwhile."""
        happened = isinstance(said, Happened)
        value = encode(said.value) if isinstance(said, Happened) else said.reason
        outcome = {"kind": "decided", "happened": happened, "value": value}
        settled = seen.entry.but(
            state="done",
            digest=self.call.digest,
            scope=self.call.scope,
            outcome=outcome,
            decision={"question": seen.question.id, "kind": "settled", "answer": outcome},
            nonce=new_nonce(),
            asked=None,
            container=False,
            gate=None,
        )
        _, standing, mine = await self.ledger.log.claim(self.call, settled, over)
        if mine:
            return Replay(outcome, self.call.call_id)
        refuse_other_answer(self.call, settled.decision, standing)
        return None


def _answered(seen: _Seen) -> Entry:
    """The entry as the next attempt finds it: with the decision that lets it in, and the answer its body waits for."""
    match seen.decision:
        case Answer(value):
            return seen.entry.but(
                answers=[*seen.entry.answers, encode(value)],
                decision=stored_decision(seen.question, seen.decision),
            )
        case Rerun():
            return seen.entry.but(decision=stored_decision(seen.question, seen.decision))
        case _:
            return seen.entry.but(decision=None)
