"""The Ledger: journaled calls for a bridge. Look at a call, run it at most once, record what it did, ask when unsure.

`enter` says what to do with a call: it answers from the record (`Replay`), hands out the right to run the body (`Attempt`),
or raises. Everything that decides is `next_step`; everything that races is one compare-and-set in the store.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_adapter._canonical import decode, encode
from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._attempt import Asked, Attempt, ClaimLost, new_nonce, refuse_other_answer
from agent_adapter.exec._call_log import CallLog
from agent_adapter.exec._decide import Facts, Owner, Rules, Step, next_step
from agent_adapter.exec._entries import CallId, Entry, idempotency_key, question_id
from agent_adapter.exec._flights import Flight, FlightKey, take_off
from agent_adapter.exec._keys import CheckpointKey, key_ring
from agent_adapter.exec._questions import (
    Answer,
    Cause,
    Decision,
    DidNotHappen,
    DoNotRun,
    Happened,
    Question,
    Rerun,
    answered,
)
from agent_adapter.exec.checkpoints import CallRecord, CheckpointStore, Liveness
from agent_adapter.policies import ToolPolicy

OnFork = Literal["replay", "rerun", "ask"]
OnBusy = Literal["conflict", "ask"]
Answers = Mapping[str, Decision]
# Marks the key of an outcome that came too late; bridges make keys of hex digits, so none contains it.
LATE = "#late:"


@dataclass(frozen=True)
class Replay:
    """The call is over: `outcome` is what was recorded, or what a person or the probe said became of it."""

    outcome: Any


@dataclass(frozen=True)
class Truth:
    """What the record knows of a call: its outcome, `in_doubt`, or neither (it never started)."""

    outcome: Any = None
    in_doubt: bool = False


class Ledger:
    """Journaled calls on one store.

    Args:
        store: where the records are kept.
        checkpoint_key: see `key_ring`; made on first use.
        claim_wait_s: how long another worker that may be alive is waited for.
        on_busy: what happens after that wait when the other worker is known to be alive: `conflict` raises
            `CheckpointConflict`, `ask` lets a person decide over its head.
    """

    def __init__(
        self,
        store: CheckpointStore,
        *,
        checkpoint_key: CheckpointKey | None = None,
        claim_wait_s: float = 5.0,
        on_busy: OnBusy = "conflict",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.log = CallLog(store, lambda: key_ring(store, checkpoint_key))
        self._liveness: Liveness | None = store if isinstance(store, Liveness) else None
        self._claim_wait_s = claim_wait_s
        self._on_busy = on_busy
        self._clock = clock
        self._fallback_owner = new_nonce()

    @property
    def owner(self) -> str:
        """The token that names this process in the records."""
        return self._liveness.owner() if self._liveness else self._fallback_owner

    async def enter(
        self,
        call: CallId,
        *,
        policy: ToolPolicy,
        answers: Answers | None = None,
        on_fork: OnFork = "replay",
        bare: str = "",
    ) -> Replay | Attempt:
        """A `Replay` when the call is over, or an `Attempt`: the right to run its body now.

        Args:
            call: which call.
            policy: what its tool allows.
            answers: decisions by question id.
            on_fork: what a finished call of another visit means.
            bare: a digest of the answer without a name that is around in this visit; kept with a question that is asked
                now, so that this answer is never taken for an answer to it.

        Raises:
            Asked: only a person can say what became of the call; the question is stored.
            CheckpointConflict: another live worker is at the call and did not finish in time.
            ApprovalConflict: the question was answered differently by somebody else.
            CheckpointStoreCorrupt: the record cannot be read or its seal does not match.
        """
        while isinstance(flight := take_off(FlightKey(self.owner, call.run, call.key)), Future):
            await asyncio.wrap_future(flight)
        try:
            answer = await self._decide(call, flight, policy, answers or {}, on_fork, bare)
        except BaseException:
            flight.land()
            raise
        if isinstance(answer, Replay):
            flight.land()
        return answer

    async def _decide(
        self, call: CallId, flight: Flight, policy: ToolPolicy, answers: Answers, on_fork: OnFork, bare: str
    ) -> Replay | Attempt:
        rules = Rules(
            repeatable=policy.idempotent or policy.read_only,
            probe=policy.reconcile is not None,
            on_fork=on_fork,
            on_busy=self._on_busy,
        )
        give_up, pause, probed = self._clock() + self._claim_wait_s, 0.05, None
        while True:
            record, entry = (await self.log.read(call.run)).get(call.key, (None, None))
            if record is None or entry is None:
                return Attempt(self, call, flight, policy, bare=bare)
            owner = self._owner_of(entry)
            question = self.question(call, entry, owner)
            decision = answers.get(question.id)
            facts = Facts(
                state=entry.state,
                same=entry.digest == call.digest,
                forked=entry.scope != call.scope,
                container=entry.container,
                undone=entry.ended == "undone",
                owner=owner,
                waited=self._clock() >= give_up,
                probed=_word(probed),
                answered=answered(decision),
            )
            match next_step(facts, rules):
                case Step.RUN:
                    return Attempt(self, call, flight, policy, bare=bare)
                case Step.REPLAY:
                    return Replay(entry.outcome)
                case Step.REENTER:
                    past = _answered(entry, question, decision)
                    return Attempt(self, call, flight, policy, bare=bare, seen=record, past=past)
                case Step.SETTLE:
                    said = decision if isinstance(decision, Happened | DoNotRun) else probed
                    assert isinstance(said, Happened | DoNotRun)  # noqa: S101 - the table settles on nothing else
                    outcome = await self._settle(call, record, entry, question, said)
                    if outcome is not None:
                        return Replay(outcome)
                case Step.PROBE:
                    probed = await _probe(policy, entry, idempotency_key(call, entry.seed))
                case Step.WAIT:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, 1.0)
                case Step.CONFLICT:
                    raise CheckpointConflict(
                        call.run,
                        f"call {call.call_id!r} of tool {call.tool!r} is still run by another live worker ({entry.owner}); "
                        "nothing was started here. Resume again when it has finished or stopped",
                    )
                case Step.ASK:
                    if question.asked_with is not None or await self._park(call, record, entry, question, bare):
                        raise Asked(question)

    def question(self, call: CallId, entry: Entry, owner: Owner) -> Question:
        """The question that this entry would be, asked now."""
        cause: Cause = "died"
        parts: tuple[str, ...] = (entry.nonce,)
        if entry.digest != call.digest:
            cause, parts = "changed", (entry.nonce, call.digest)
        elif entry.state == "pending":
            # Not the nonce: an answer that the body refused reopens the same question.
            cause, parts = "body", (entry.seed, "body", str(len(entry.answers)))
        elif entry.state == "done":
            cause, parts = "fork", (entry.nonce, call.scope)
        elif entry.state == "unrecordable":
            cause = "unrecordable"
        elif entry.ended:
            cause = "raised" if entry.ended == "raised" else "cancelled"
        elif owner != "dead":
            cause = "busy"
        name = question_id(call, *parts)
        return Question(
            id=name,
            cause=cause,
            tool=call.tool,
            arguments=entry.arguments,
            call_id=call.call_id,
            idempotency_key=idempotency_key(call, entry.seed),
            owner_known_dead=owner == "dead",
            detail=entry.detail,
            payload=entry.payload,
            schema=entry.schema,
            asked_with=entry.asked["bare"] if entry.asked and entry.asked["question"] == name else None,
        )

    async def open_questions(self, run: str, scope: str) -> frozenset[str]:
        """The ids of the questions that this visit asked about calls of this run and that nobody answered yet."""
        asked = [entry.asked for _, entry in (await self.log.read(run)).values() if entry.asked]
        return frozenset(question["question"] for question in asked if question["scope"] == scope)

    async def open_question(self, call: CallId) -> Question | None:
        """The question about the call as it was asked and waits for an answer, None when there is none."""
        _, entry = (await self.log.read(call.run)).get(call.key, (None, None))
        if entry is None or entry.asked is None:
            return None
        # The visit may ask about other arguments than the record holds; the question names those that it was asked with.
        asked = replace(call, digest=entry.asked["digest"], scope=entry.asked["scope"])
        return self.question(asked, entry, self._owner_of(entry))

    async def truth(self, run: str, call_id: str, digest: str) -> Truth:
        """What the record knows of a call, found by its run, model-given id and digest."""
        truth = Truth()
        for key, (_, entry) in (await self.log.read(run)).items():
            if LATE not in key and entry.call_id == call_id and entry.digest == digest:
                if entry.state == "done":
                    return Truth(outcome=entry.outcome)
                truth = Truth(in_doubt=True)
        return truth

    async def finished(self, run: str) -> bool:
        """Whether every call of the run has its outcome, so that nobody will ask about one."""
        return all(entry.state == "done" and not entry.asked for _, entry in (await self.log.read(run)).values())

    async def keep(self, call: CallId, outcome: Any) -> Any:
        """The first outcome that anybody kept under this key: this one, or an earlier one."""
        entry = self.fresh(call, state="done", outcome=outcome)
        _, standing, _ = await self.log.claim(call, entry, None)
        return standing.outcome

    async def kept(self, call: CallId) -> Any | None:
        """The outcome kept under this key, None when there is none."""
        _, entry = (await self.log.read(call.run)).get(call.key, (None, None))
        return None if entry is None else entry.outcome

    async def use_once(self, call: CallId, by: str) -> bool:
        """Whether `by` is the one and only user of this key, now or before."""
        return bool(await self.keep(call, by) == by)

    def fresh(self, call: CallId, **values: Any) -> Entry:
        """A first entry for the call."""
        base: dict[str, Any] = {
            "state": "started",
            "call_id": call.call_id,
            "digest": call.digest,
            "scope": call.scope,
            "seed": "",
            "nonce": new_nonce(),
            "owner": self.owner,
            "arguments": call.arguments,
        }
        return Entry(**{**base, **values})

    def _owner_of(self, entry: Entry) -> Owner:
        """Who may still be running the attempt. Own attempts have ended: their flight would not have been free."""
        if entry.state != "started" or entry.ended or entry.owner == self.owner:
            return "dead"
        return self._liveness.liveness(entry.owner) if self._liveness else "unknown"

    async def keep_late(self, call: CallId, entry: Entry) -> None:
        """Keep an outcome that came after the call was decided, beside its record."""
        await self.log.claim(replace(call, key=f"{call.key}{LATE}{entry.nonce}"), entry, None)

    async def _park(self, call: CallId, record: CallRecord, entry: Entry, question: Question, bare: str) -> bool:
        """Store that the question is asked; False when the record changed meanwhile and has to be read again."""
        asked = {"question": question.id, "bare": bare, "scope": call.scope, "digest": call.digest}
        _, _, mine = await self.log.claim(call, entry.but(asked=asked), record)
        return mine

    async def _settle(
        self, call: CallId, record: CallRecord, entry: Entry, question: Question, said: Happened | DoNotRun
    ) -> Any | None:
        """The outcome that was decided, recorded; None when the record changed meanwhile."""
        if isinstance(said, Happened):
            outcome = {"kind": "decided", "happened": True, "value": encode(said.value)}
        else:
            outcome = {"kind": "decided", "happened": False, "value": said.reason}
        decision = {"question": question.id, "answer": outcome}
        settled = entry.but(
            state="done", digest=call.digest, scope=call.scope, outcome=outcome, decision=decision, nonce=new_nonce()
        )
        _, standing, mine = await self.log.claim(call, settled, record)
        if mine:
            return outcome
        refuse_other_answer(call, question.id, outcome, standing)
        return None


def _answered(entry: Entry, question: Question, decision: Decision | None) -> Entry:
    """The entry as the next attempt finds it: with the decision that lets it in, and the answer its body waits for."""
    match decision:
        case Answer(value):
            plain = encode(value)
            return entry.but(answers=[*entry.answers, plain], decision={"question": question.id, "answer": plain})
        case Rerun():
            return entry.but(decision={"question": question.id, "answer": "rerun"})
        case _:
            return entry.but(decision=None)


def _word(probed: Any) -> Literal["happened", "did_not_happen", "unknown"] | None:
    match probed:
        case None:
            return None
        case Happened():
            return "happened"
        case DidNotHappen():
            return "did_not_happen"
        case _:
            return "unknown"


async def _probe(policy: ToolPolicy, entry: Entry, key: str) -> Any:
    """What the tool's `reconcile` says of this attempt; its failure says nothing."""
    assert policy.reconcile is not None  # noqa: S101 - the table probes only where there is one
    arguments = decode(entry.arguments)
    try:
        if inspect.iscoroutinefunction(policy.reconcile):
            return await policy.reconcile(arguments, key)
        said = await asyncio.to_thread(policy.reconcile, arguments, key)
        return await said if inspect.isawaitable(said) else said
    except Exception:  # noqa: BLE001 - a probe that fails cannot tell; a person is asked instead
        return "unknown"


__all__ = ["Asked", "Attempt", "ClaimLost", "Ledger", "Replay", "Truth"]
