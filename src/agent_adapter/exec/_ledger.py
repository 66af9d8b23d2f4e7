"""The Ledger: journaled calls for a bridge or a loop. Look at a call, run it at most once, record what it did, ask when unsure.

`enter` says what to do with a call: it answers from the record (`Replay`), hands out the right to run the
body (`Attempt`), or raises. Everything that decides is `next_step`; everything that races is one
compare-and-set in the store.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent_adapter.exec._asked import new_nonce
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._call_log import CallLog, Log
from agent_adapter.exec._decide import Owner, Rules
from agent_adapter.exec._entering import Answers, Entering, Replay
from agent_adapter.exec._entries import CallId, Entry, branch_key, idempotency_key, question_id
from agent_adapter.exec._flights import FlightKey, is_flying, lingers, take_off, take_over
from agent_adapter.exec._keys import CheckpointKey, key_ring
from agent_adapter.exec._questions import Cause, Question
from agent_adapter.exec.checkpoints import CheckpointStore, Liveness
from agent_adapter.policies import ToolPolicy

OnFork = Literal["replay", "rerun", "ask"]
OnBusy = Literal["conflict", "ask"]
# Marks the key of an outcome that came too late. No other key contains it: bridges make keys of hex digits, and the
# tools and children named in a loop's keys have no `#`.
LATE = "#late:"
# The key of a run's lease; like the one above, no call has it.
LEASE = "#lease"
LOOK_AGAIN_S = 0.02


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
        clock: seconds that only grow.
        log: where the records are, when it is not in runs of their own.
        probes: what probes said already, by the attempt's nonce and its owner's state; filled, and asked first.
    """

    def __init__(
        self,
        store: CheckpointStore,
        *,
        checkpoint_key: CheckpointKey | None = None,
        claim_wait_s: float = 5.0,
        on_busy: OnBusy = "conflict",
        clock: Callable[[], float] = time.monotonic,
        log: Log | None = None,
        probes: dict[tuple[str, str], Any] | None = None,
    ) -> None:
        self.log: Log = log or CallLog(store, lambda: key_ring(store, checkpoint_key))
        # Where a question has an answer without a name around it, asking has to be stored. In a loop it has none.
        self.keeps_questions = log is None
        self.probes = probes
        self._liveness: Liveness | None = store if isinstance(store, Liveness) else None
        self._claim_wait_s = claim_wait_s
        self._on_busy = on_busy
        self.clock = clock
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
            bare: a digest of the answer without a name that is around in this visit; kept with a question
                that is asked now, so that this answer is never taken for an answer to it.

        Raises:
            Asked: only a person can say what became of the call; the question is stored.
            CheckpointConflict: another live worker is at the call and did not finish in time.
            ApprovalConflict: the question was answered differently by somebody else.
            CheckpointStoreCorrupt: the record cannot be read or its seal does not match.
        """
        give_up = self.clock() + self._claim_wait_s
        key, busy = FlightKey(self.owner, call.run, call.key), False
        while isinstance(flight := take_off(key), Future):
            left = None if self.keeps_questions else give_up - self.clock()
            if left is not None and left <= 0:
                # In a loop somebody may decide over the head of a worker that hangs, in this process too.
                flight, busy = take_over(key), True
                break
            await asyncio.wait([asyncio.wrap_future(flight)], timeout=left)
        rules = Rules(
            repeatable=policy.idempotent or policy.read_only,
            probe=policy.reconcile is not None,
            on_fork=on_fork,
            on_busy=self._on_busy,
        )
        entering = Entering(
            self, call, flight, policy, rules, answers or {}, bare, give_up, busy=busy
        )
        try:
            entered = await entering.end()
        except BaseException:
            flight.land()
            raise
        if isinstance(entered, Replay):
            flight.land()
        return entered

    def question(
        self, call: CallId, entry: Entry, owner: Owner, *, tool: str | None = None
    ) -> Question:
        """The question that this entry would be, asked now; `tool` is the one that the entry is of, if not the call's."""
        cause: Cause = "died"
        parts: tuple[str, ...] = (entry.nonce,)
        arguments = entry.arguments
        if entry.gated and entry.gate is not None:
            arguments = entry.gate["arguments"]
            # Not the nonce: asking again about the same arguments is the same question.
            cause, parts = "approval", (entry.seed, "gate", entry.gate["digest"], call.digest)
        elif entry.digest != call.digest:
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
            tool=tool or call.tool,
            arguments=arguments,
            call_id=call.call_id,
            # What the attempt itself was given, which may be another call's than this one's.
            idempotency_key=idempotency_key(replace(call, digest=entry.digest), entry.seed),
            owner_known_dead=owner == "dead",
            detail=entry.detail,
            payload=entry.payload,
            schema=entry.schema,
            asked_with=entry.asked["bare"]
            if entry.asked and entry.asked["question"] == name
            else None,
        )

    async def open_questions(self, run: str, scope: str) -> frozenset[str]:
        """The ids of the questions that this visit asked about calls of this run and that nobody answered yet."""
        asked = [entry.asked for _, entry in (await self.log.read(run)).values() if entry.asked]
        return frozenset(question["question"] for question in asked if question["scope"] == scope)

    async def open_question(self, call: CallId) -> Question | None:
        """The question about the call as it was asked and waits for an answer, None when there is none."""
        for key in (branch_key(call), call.key):
            found = await self.log.find(call.run, key)
            if found is not None and found[1].asked is not None:
                record, entry = found
                break
        else:
            return None
        assert entry.asked is not None  # noqa: S101 - see above
        # The visit may ask about other arguments than the record holds; the question names those it was asked with.
        asked = replace(call, key=key, digest=entry.asked["digest"], scope=entry.asked["scope"])
        return self.question(asked, entry, self.owner_of(entry), tool=record.tool)

    async def dispute(self, call: CallId, detail: str) -> None:
        """A recorded outcome is of no use to the framework: from now on a person has to say what the call's result is."""
        found = await self.log.find(call.run, call.key)
        if found is not None and found[1].state == "done":
            disputed = found[1].but(
                state="unrecordable", detail=detail, nonce=new_nonce(), asked=None
            )
            await self.log.claim(call, disputed, found[0])

    async def outcome(self, call: CallId, *, wait_s: float) -> Any | None:
        """The outcome of a call that another task or worker runs, waited for while somebody is at it.

        Args:
            call: the call; nothing is claimed.
            wait_s: how long a call that nobody has begun is waited for.
        """
        give_up = self.clock() + wait_s
        while True:
            _, entry = await self.log.find(call.run, call.key) or (None, None)
            if entry is not None and entry.state == "done":
                return entry.outcome
            busy = is_flying(FlightKey(self.owner, call.run, call.key)) or (
                entry is not None and self.owner_of(entry) != "dead"
            )
            if not busy and (entry is not None or self.clock() >= give_up):
                return None
            await asyncio.sleep(LOOK_AGAIN_S)

    async def truth(self, run: str, call_id: str, digest: str) -> Truth:
        """What the record knows of a call, found by its run, model-given id and digest."""
        truth = Truth()
        for key, (_, entry) in (await self.log.read(run)).items():
            mine = entry.call_id == call_id and entry.digest == digest
            # What waits for approval never began.
            if mine and LATE not in key and not entry.gated:
                if entry.state == "done":
                    return Truth(outcome=entry.outcome)
                truth = Truth(in_doubt=truth.in_doubt or entry.ended != "undone")
        return truth

    async def finished(self, run: str) -> bool:
        """Whether every call of the run has its outcome, so that nobody will ask about one."""
        return all(
            LATE in key or key == LEASE or (entry.state == "done" and not entry.asked)
            for key, (_, entry) in (await self.log.read(run)).items()
        )

    async def keep(self, call: CallId, outcome: Any) -> Any:
        """The first outcome that anybody kept under this key: this one, or an earlier one."""
        entry = self.fresh(call, state="done", outcome=outcome)
        _, standing, _ = await self.log.claim(call, entry, None)
        return standing.outcome

    async def kept(self, call: CallId) -> Any | None:
        """The outcome kept under this key, None when there is none."""
        _, entry = await self.log.find(call.run, call.key) or (None, None)
        return None if entry is None else entry.outcome

    async def kept_in(self, run: str) -> list[Any]:
        """Every outcome kept in the run, in the order first kept."""
        return [entry.outcome for _, entry in (await self.log.read(run)).values()]

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

    def owner_of(self, entry: Entry) -> Owner:
        """Who may still be running the attempt. Own ones have ended (their flight would not have been free), or linger."""
        if lingers(entry.nonce):
            return "alive"
        if entry.state != "started" or entry.ended or entry.owner == self.owner:
            return "dead"
        return self._liveness.liveness(entry.owner) if self._liveness else "unknown"

    async def keep_late(self, call: CallId, entry: Entry) -> None:
        """Keep an outcome that came after the call was decided, beside its record."""
        late = replace(call, key=f"{call.key}{LATE}{entry.nonce}")
        await self.log.claim(late, entry, None, fenced=False)
