"""The record that one attempt holds: what it says now, what it says next, and the compare-and-set over it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._asked import ClaimLost, new_nonce, refuse_other_answer
from agent_adapter.exec._entries import CallId, Entry, idempotency_key
from agent_adapter.exec._gate import Gate
from agent_adapter.exec._questions import Question
from agent_adapter.exec.checkpoints import CallRecord
from agent_adapter.policies import ToolPolicy

if TYPE_CHECKING:
    from agent_adapter.exec._ledger import Ledger


class Holding:
    """One attempt's hold on the record of its call; what an attempt does with it is `Attempt`'s."""

    def __init__(
        self,
        ledger: "Ledger",
        call: CallId,
        policy: ToolPolicy,
        gate: Gate,
        *,
        bare: str,
        seen: CallRecord | None,
        past: Entry | None,
        decision: Any,
    ) -> None:
        self.call = call
        self.gate = gate
        self.started = False
        self._ledger = ledger
        self._policy = policy
        self._seen = seen
        self._past = past
        # A decision that lets the attempt in without a record of its own to stand on.
        self._decision = decision
        # The run's life that the call was looked for in; it must not be written into another.
        self._segment = ledger.log.segment(call.run)
        self._bare = bare
        self._entry: Entry | None = None
        self._stored = False
        # What is stored of this attempt while its body runs.
        self._started_as: Entry | None = None
        self._repeatable = policy.idempotent or policy.read_only
        # A repeatable call needs no record before its body; its seed has to be the same without one.
        fresh = "" if self._repeatable else new_nonce()
        self._seed = past.seed if past else fresh if call.seed is None else call.seed

    @property
    def repeatable(self) -> bool:
        """Whether running the body again does no harm."""
        return self._repeatable

    @property
    def stored(self) -> bool:
        """Whether a record says that the call began here."""
        return self._stored

    @property
    def nonce(self) -> str:
        """What tells this attempt from every other one."""
        return self._current.nonce

    @property
    def idempotency_key(self) -> str:
        """Equal for every attempt of this call, different for every other call."""
        return idempotency_key(self.call, self._seed)

    async def keep_late(self, outcome: Any) -> None:
        """Keep beside the record how a body ended that was given up."""
        entry = self._started_as or self._next(self.call.arguments)
        await self._ledger.keep_late(self.call, entry.but(state="done", outcome=outcome))

    @property
    def _current(self) -> Entry:
        """The entry that the attempt holds; a call that was answered before its body began has a fresh one."""
        return self._entry or self._next(self.call.arguments)

    def _next(self, arguments: Any) -> Entry:
        before = self._entry or self._past
        return self._ledger.fresh(
            self.call,
            seed=self._seed,
            arguments=arguments,
            attempt=before.attempt + 1 if before else 1,
            answers=before.answers if before else [],
            decision=before.decision if before else self._decision,
            gate=self.gate.for_record,
            payload=before.payload if before else None,
            schema=before.schema if before else None,
        )

    async def _ask(self, entry: Entry) -> Question:
        """The question that the entry asks, once both are stored."""
        entry, question = self._asking(entry)
        await self._replace(entry)
        return question

    def _asking(self, entry: Entry) -> tuple[Entry, Question]:
        """The entry as one that asks, and its question."""
        question = self._ledger.question(self.call, entry, "dead")
        asked = {
            "question": question.id,
            "bare": self._bare,
            "scope": self.call.scope,
            "digest": self.call.digest,
        }
        return entry.but(asked=asked), replace(question, asked_with=self._bare)

    async def _claim(self, entry: Entry) -> None:
        """Store the entry that lets the body begin; for what is raised see `Attempt.start`."""
        record, standing, mine = await self._write(entry, self._seen)
        if not mine:
            if entry.decision:
                refuse_other_answer(self.call, entry.decision, standing)
            raise ClaimLost
        self._seen, self._entry, self.started, self._stored = record, entry, True, True
        self._started_as = entry

    async def _replace(self, entry: Entry) -> None:
        """Store the entry over the one that the attempt holds; for what is raised see `Attempt.finish`."""
        while True:
            # Whoever began a call may always say how it ended; to begin is for whoever has the run.
            record, standing, mine = await self._write(entry, self._seen, fenced=not self._stored)
            if mine:
                self._seen, self._entry = record, entry
                return
            if self._only_asked_about(standing):
                # Somebody asked about the attempt while it ran; its outcome is the best answer.
                self._seen = record
            elif self._repeatable and self._seen is None and standing.state == "done":
                # Another worker was faster with a call that may run twice: its outcome counts.
                raise ClaimLost
            else:
                break
        await self._ledger.keep_late(self.call, entry)
        raise CheckpointConflict(
            self.call.run,
            f"call {self.call.call_id!r} of tool {self.call.tool!r} was decided or taken over while it ran here; "
            "its late outcome is kept beside the record and nothing more is started",
        )

    def _only_asked_about(self, standing: Entry) -> bool:
        mine = self._started_as
        return (
            mine is not None
            and standing.but(asked=None) == mine.but(asked=None)
            and standing != mine
        )

    async def _write(
        self, entry: Entry, over: CallRecord | None, *, fenced: bool = True
    ) -> tuple[CallRecord, Entry, bool]:
        """What stands after one compare-and-set over that record, and whether it is this entry."""
        return await self._ledger.log.claim(
            self.call, entry, over, life=self._segment, fenced=fenced
        )
