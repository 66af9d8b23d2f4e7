"""What stands open in a stored turn: calls in doubt, calls that wait for a person, and calls that changed. Only reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agent_adapter._canonical import encode
from agent_adapter.approvals import ApprovalRequest, StoredApproval, approval_store
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.errors import DoubtfulCall, NotSealable, ToolUsageError
from agent_adapter.exec._decide import Facts, Rules, Step, next_step
from agent_adapter.exec._entries import CallId, Entry
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._flights import FlightKey, is_flying
from agent_adapter.exec._journal_data import to_entry
from agent_adapter.exec._ledger import LATE, Ledger
from agent_adapter.exec._looking import Behind, Entries, Replied, behind, keys_of, replies
from agent_adapter.exec._probing import ask_probe, word_of
from agent_adapter.exec._questions import Decision, Happened, Question, answered
from agent_adapter.exec._replies import REPLY
from agent_adapter.exec._turn import doubt
from agent_adapter.exec.checkpoints import CallRecord
from agent_adapter.policies import ToolPolicy
from agent_adapter.registry import Registry


@dataclass
class Open:
    """What keeps a turn from going on.

    Attributes:
        doubts: the calls in doubt that nobody has decided.
        awaited: whether another worker may still end one of them.
    """

    doubts: list[DoubtfulCall] = field(default_factory=list)
    awaited: bool = False


class Doubts:
    """Looks through the records of one turn.

    Args:
        ledger: reads liveness and makes questions.
        registry: the loop's tools.
        executor: what runs them.
        name: the loop's stage.
        run_id: the run.
        decisions: what people said, by question id.
    """

    def __init__(
        self,
        ledger: Ledger,
        registry: Registry,
        executor: Executor,
        *,
        name: str,
        run_id: str,
        decisions: Mapping[str, Decision],
    ) -> None:
        self._ledger = ledger
        self._registry = registry
        self._executor = executor
        self._name = name
        self._run_id = run_id
        self._decisions = decisions

    def check_calls(self, entries: Entries, calls: Sequence[ToolCall]) -> None:
        """Nothing, when every record of the turn belongs to a call that can be made again as it was.

        Raises:
            ToolUsageError: a tool is gone, or takes other arguments by now; the message names it.
        """
        for key, (record, entry) in _standing(entries):
            if entry.state != "done" and self._behind(key).gone:
                raise ToolUsageError(
                    f"run {self._run_id!r} has an unfinished call of tool {record.tool!r}, which is not registered: "
                    "register it and recover again; nothing was changed"
                )
        standing = dict(_standing(entries))
        for reply in replies(calls, self._registry, self._executor, standing):
            if reply.registry is not None:
                self._check_made(reply, reply.registry, standing)

    def _check_made(self, reply: Replied, registry: Registry, entries: Entries) -> None:
        keys = keys_of(reply.calls, registry, reply.executor)
        made = {f"{reply.path}{key}" for key in keys if key is not None}
        for key, (record, _) in entries.items():
            below = key.removeprefix(reply.path)
            own = key.startswith(reply.path) and "/" not in below and record.tool != REPLY
            if own and key not in made:
                raise ToolUsageError(
                    f"run {self._run_id!r} has a record of a call of tool {record.tool!r} that the model's reply no longer "
                    "makes: the tool is not registered, it takes other arguments than when the call was made, or a class of "
                    "them moved (as __main__ does when a script is imported). Register it as it was and recover again; "
                    "nothing was changed"
                )

    async def look(self, entries: Entries, *, waited: bool = True) -> Open:
        """What is in doubt now; with `waited` off, a call whose worker may live is waited for instead.

        A tool's own `reconcile` is asked first.

        Raises:
            ToolUsageError: a decision gives a call a value that its tool cannot have returned.
        """
        found = Open()
        for key, (record, entry) in _standing(entries):
            if entry.state not in ("started", "unrecordable"):
                continue
            step, question = await self._step(key, record, entry, waited=waited)
            if step is Step.WAIT:
                found.awaited = True
            elif step in (Step.ASK, Step.CONFLICT):
                found.doubts.append(doubt(question, key))
        return found

    async def undecided(
        self, entries: Entries, calls: Sequence[ToolCall]
    ) -> tuple[ApprovalRequest, ...]:
        """The requests of parked calls that can still be decided and are not, in the order of the calls."""
        order = {key: at for at, key in enumerate(keys_of(calls, self._registry, self._executor))}
        waiting: list[tuple[int, ApprovalRequest]] = []
        for key, (_, entry) in _standing(entries):
            store = approval_store(self._behind(key).executor.approvals)
            if store is not None and entry.gated and entry.gate is not None:
                stored = await store.get(entry.gate["request"])
                if stored is not None and _waits(stored):
                    waiting.append((order.get(key.partition("/")[0], len(order)), stored.request))
        return tuple(request for _, request in sorted(waiting, key=lambda each: each[0]))

    def _behind(self, key: str) -> Behind:
        return behind(key, self._registry, self._executor)

    async def _step(
        self, key: str, record: CallRecord, entry: Entry, *, waited: bool
    ) -> tuple[Step, Question]:
        owner = self._ledger.owner_of(entry)
        if is_flying(FlightKey(self._ledger.owner, self._run_id, key)):
            owner = "alive"
        call = CallId(
            run=self._run_id,
            name=self._name,
            key=key,
            call_id=entry.call_id,
            tool=record.tool,
            digest=entry.digest,
            scope=entry.scope,
        )
        question = self._ledger.question(call, entry, owner, tool=record.tool)
        # What nobody can look into is judged like a tool that says nothing about itself.
        policy = self._behind(key).tool or ToolPolicy()
        decision = self._decisions.get(question.id)
        if isinstance(decision, Happened):
            check_value(question, decision, policy)
        container = getattr(policy, "kind", "") == "agent"
        rules = Rules(
            repeatable=policy.idempotent or policy.read_only or container,
            probe=policy.reconcile is not None,
            on_busy="ask",
        )
        said = None
        while True:
            facts = Facts(
                state=entry.state,
                undone=entry.ended == "undone",
                owner=owner,
                waited=waited,
                probed=word_of(said),
                answered=answered(decision),
            )
            step = next_step(facts, rules)
            if step is not Step.PROBE:
                return step, question
            said = await ask_probe(
                policy,
                entry,
                question.idempotency_key,
                owner=owner,
                known=self._ledger.probes,
            )


def check_value(question: Question, decision: Happened, policy: ToolPolicy) -> None:
    """Nothing, when the value can be stored and given back as what the tool returns.

    Raises:
        ToolUsageError: it cannot; nothing was decided.
    """
    returns = getattr(policy, "returns", None)
    try:
        encode(decision.value)
    except NotSealable as exc:
        reason = str(exc)
    else:
        value = ToolResult(call_id="", tool=question.tool, value=decision.value)
        entry = to_entry(value, returns, None, None) if returns is not None else {}
        if "unrecordable" not in entry:
            return
        reason = "it cannot be given back as what the tool returns"
    raise ToolUsageError(
        f"question {question.id}: Happened({type(decision.value).__name__}) is no result of tool {question.tool!r}: "
        f"{reason}; nothing was changed"
    )


def _standing(entries: Entries) -> Iterator[tuple[str, tuple[CallRecord, Entry]]]:
    """The records that count: not late ones, nor those below a call that is over."""
    over = {key for key, (_, entry) in entries.items() if entry.state == "done"}
    for key, found in entries.items():
        if LATE not in key and over.isdisjoint(_above(key)):
            yield key, found


def _above(key: str) -> Iterator[str]:
    """The keys of the calls that this one stands in."""
    at = key.find("/")
    while at >= 0:
        yield key[:at]
        at = key.find("/", at + 1)


def _waits(stored: StoredApproval) -> bool:
    expires = stored.request.expires_at
    return stored.decision is None and (expires is None or datetime.now(UTC) < expires)
