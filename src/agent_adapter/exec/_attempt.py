"""One attempt at a call: what is stored while it waits for a person, before its body begins, and when that has ended.

`start` is the claim: the body may begin only after it returned. Each of these writes is one compare-and-set over the
record that the attempt holds, and raises `CheckpointConflict` once another worker has the run. When the record was
replaced meanwhile (a person decided over a worker that was not dead), the late outcome is kept beside it and the worker
is told to stop: whatever says how the attempt ended raises as `finish` does.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from agent_adapter.calls import text_of
from agent_adapter.exec._asked import Asked, ClaimLost, new_nonce, refuse_other_answer
from agent_adapter.exec._entries import CallId, Entry
from agent_adapter.exec._flights import Flight
from agent_adapter.exec._gate import Gate, stored_decision, waiting
from agent_adapter.exec._holding import Holding
from agent_adapter.exec._questions import Decision, Edited, Question, Rerun
from agent_adapter.exec.checkpoints import CallRecord
from agent_adapter.policies import ToolPolicy

if TYPE_CHECKING:
    from agent_adapter.exec._ledger import Ledger


class Attempt(Holding):
    """The right to run one call's body, held until `land`.

    Attributes:
        call: the call.
        gate: what a person decided about it before its body began.
        started: whether `start` let the body begin, with a record of it or (a call that may run twice) without.
    """

    def __init__(
        self,
        ledger: "Ledger",
        call: CallId,
        flight: Flight,
        policy: ToolPolicy,
        *,
        bare: str = "",
        seen: CallRecord | None = None,
        past: Entry | None = None,
        decision: Any = None,
        verdict: Rerun | Edited | None = None,
    ) -> None:
        gate = Gate(past, verdict)
        super().__init__(
            ledger, call, policy, gate, bare=bare, seen=seen, past=past, decision=decision
        )
        self._flight = flight
        # The record that asks for an approval, and its content.
        self._asked_as: tuple[CallRecord, Entry] | None = None
        self._refused: BaseException | None = None

    @property
    def answers(self) -> list[Any]:
        """For a body that asks: the answers that it was given so far, encoded, in order."""
        return list(self._past.answers) if self._past else []

    @property
    def arguments(self) -> Any:
        """The arguments that the body was given before, None when it has not run."""
        return self._past.arguments if self._past else None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """The attempt lives on this loop; once that is closed, nobody waits for it any more."""
        self._flight.loop = loop

    @property
    def answered(self) -> bool:
        """Whether this attempt brings the body an answer that no earlier one had."""
        decision: Any = self._past.decision if self._past else None
        return decision is not None and decision["kind"] == "answer"

    @property
    def decided_again(self) -> bool:
        """Whether a person decided about this call in doubt that it is run again."""
        decision: Any = self._past.decision if self._past else None
        return self.doubtful and decision is not None and decision["kind"] == "rerun"

    @property
    def body_output(self) -> Any:
        """What the body returned in an earlier attempt whose surroundings did not finish; None when it has to run."""
        return self._past.outcome if self._past and self._past.container else None

    def tighten(self, policy: ToolPolicy) -> None:
        """Run under this policy too: another tool than the one that was asked for takes the call."""
        if not (policy.idempotent or policy.read_only):
            self._repeatable = False
            self._seed = self._seed or new_nonce()
        self._policy = policy

    async def ask_approval(self, shown: Any) -> Question:
        """The question whether the call may run with these arguments (encoded), once it is stored.

        Raises:
            ClaimLost: another worker has gone on with the call.
            Asked: the call may have taken effect, which is the question then.
        """
        if self.doubtful:
            raise self.ask_again()
        gate, past, seen = waiting("", shown), self._past, self._seen
        if (
            past is not None
            and seen is not None
            and past.gated
            and past.gate == gate
            and past.asked
        ):
            self._asked_as = seen, past
            return self._ledger.question(self.call, past, "dead")
        entry, question = self._asking(self._current.but(state="pending", gate=gate, decision=None))
        record, _, mine = await self._write(entry, seen)
        if not mine:
            raise ClaimLost
        self._asked_as = record, entry
        return question

    async def keep_decision(self, question: Question, decision: Decision) -> None:
        """Store what was decided about the parked call, for whoever enters it next.

        Raises:
            ClaimLost: another worker has gone on with the call.
            ApprovalConflict: it was decided differently.
        """
        assert self._asked_as is not None  # noqa: S101 - only what was asked is decided
        seen, entry = self._asked_as
        decided = entry.but(decision=stored_decision(question, decision), asked=None)
        _, standing, mine = await self._write(decided, seen)
        if not mine:
            refuse_other_answer(self.call, decided.decision, standing)
            raise ClaimLost

    async def hold(self, request: str, shown: Any) -> None:
        """Store that the call waits for a person before its body begins; noting the same again writes nothing.

        Args:
            request: the request's id.
            shown: the arguments that the person sees, encoded.

        Raises:
            ClaimLost: another worker has gone on with the call.
        """
        gate = waiting(request, shown)
        past = self._past
        if past is not None and past.state == "pending" and past.gate == gate:
            return
        entry = self._current.but(state="pending", gate=gate)
        _, standing, mine = await self._write(entry, self._seen)
        if not mine and not (standing.state == "pending" and standing.gate == gate):
            raise ClaimLost

    async def start(self, arguments: Any) -> None:
        """Store that the body begins, with the arguments it is really given.

        A second start in one attempt is somebody's retry around the body; it is refused where a repeat may double the
        effect.

        Raises:
            ClaimLost: another worker claimed the call first.
            Asked: the body already ran in this attempt, failed, and may have taken effect.
            ApprovalConflict: the question that let this attempt in was answered differently by somebody else.
        """
        if self.started and not self._repeatable and self._current.ended != "undone":
            raise Asked(await self._ask(self._current))
        entry = self._next(arguments)
        approved = entry.decision is not None or entry.gate is not None
        if self._repeatable and not approved and not entry.answers:
            # Nothing is stored of it, so what it stands on has to be.
            await self._ledger.log.saved()
            self._entry, self.started = entry, True
            return
        await self._claim(entry)

    async def finish(self, outcome: Any) -> None:
        """Store the call's outcome (plain JSON).

        Raises:
            CheckpointConflict: it was decided over meanwhile; the late outcome is kept beside the record.
            ClaimLost: the call may run twice, and another worker's outcome is stored already.
        """
        await self._replace(self._current.but(state="done", outcome=outcome, ended=""))

    async def unrecordable(self, detail: str) -> None:
        """Store that the body ran and its result could not be stored: a question for a person."""
        await self._replace(self._current.but(state="unrecordable", detail=detail))

    @property
    def doubtful(self) -> bool:
        """Whether the record that this attempt stands on says that the effect may already have happened."""
        past = self._past
        if past is None or self._repeatable or past.container:
            return False
        if past.gated or past.ended == "undone":
            return False
        return past.state in ("started", "unrecordable") or past.digest != self.call.digest

    def ask_again(self) -> Asked:
        """The signal that the question which let this attempt in is still open: its body did not run after all."""
        assert self._past is not None  # noqa: S101 - only a doubtful attempt asks again
        return Asked(self._ledger.question(self.call, self._past, "dead"))

    def note_failure(self, error: BaseException, *, began: bool = True) -> None:
        """Remember that the body raised, before anybody knows whether that becomes an answer.

        Args:
            error: what it raised.
            began: False when the tool refused its arguments, so that nothing of it ran.
        """
        if self._entry is not None:
            self._refused = None if began else error
            self._entry = self._ended("raised", error)

    async def fail(self, how: Literal["raised", "cancelled"], error: BaseException) -> None:
        """Store that the call ended without an answer; a `did_not_happen` error lets it run again.

        A call that left no `started` leaves no failure either: it may run again as it is.
        """
        if self._entry is None:
            return
        self._entry = self._ended(how, error)
        if self._stored:
            await self._replace(self._entry)

    async def undo(self, error: BaseException) -> None:
        """Store that the body, which was about to begin, did not."""
        if self._stored:
            await self._replace(self._ended("raised", error).but(ended="undone"))

    def _ended(self, how: Literal["raised", "cancelled"], error: BaseException) -> Entry:
        # A framework may wrap the tool's own refusal in an error of its own.
        refused = self._refused is not None and self._refused in (error, error.__cause__)
        harmless = refused or isinstance(error, self._policy.did_not_happen)
        undone = how == "raised" and harmless
        detail = f"{type(error).__name__}: {text_of(error)}"[:500]
        return self._current.but(ended="undone" if undone else how, detail=detail)

    async def pause(self, payload: Any, schema: Any) -> Question:
        """The question that the body itself asks a person, once it is stored."""
        return await self._ask(
            self._current.but(state="pending", payload=payload, schema=schema, decision=None)
        )

    async def contain(self, output: Any = None) -> None:
        """Store that something inside or around the body asks or failed: the call is entered again whenever it is met.

        Args:
            output: what the body returned, when it is over and must not run again.
        """
        await self._replace(
            self._current.but(
                state="pending", container=True, decision=None, ended="", outcome=output
            )
        )

    async def reopen(self) -> None:
        """Store that the body refused the last answer it was given: its question is open again."""
        await self._ask(
            self._current.but(state="pending", answers=self._current.answers[:-1], decision=None)
        )

    def land(self) -> None:
        """End the attempt: whoever waits for the call looks again."""
        self._flight.land()
