"""What a journaled call's record says, and its sealed form in a `CallRecord`.

An entry is written whole and replaced whole: the store compares complete records, so whatever an entry holds
(nonce, owner, decision) takes part in the compare-and-set that decides every race.
"""

import hashlib
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from agent_adapter._sealing import KeyRing, seal, unseal
from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.exec.checkpoints import CallRecord, CallState

VERSION = 1


@dataclass(frozen=True)
class CallId:
    """Which call this is, as a bridge sees it.

    Attributes:
        run: the store's run id.
        name: the name under which the store lists the run.
        key: the call's key inside the run.
        call_id: the id that the model gave to the call, or a substitute.
        tool: the tool's name.
        digest: of the tool's name and its normalised arguments.
        scope: the visit that makes the call; another scope on a record means a fork.
        arguments: the plain arguments as asked for.
        seed: goes into the idempotency key and is equal for every attempt; None to have one made.
    """

    run: str
    name: str
    key: str
    call_id: str
    tool: str
    digest: str
    scope: str
    arguments: Any = None
    seed: str | None = None


@dataclass(frozen=True)
class Entry:
    """The content of one record; plain JSON throughout."""

    state: CallState
    call_id: str
    digest: str
    scope: str
    # The same for every attempt of the call, so that the idempotency key is too.
    seed: str
    nonce: str
    owner: str
    attempt: int = 1
    arguments: Any = None
    answers: list[Any] = field(default_factory=list)
    ended: str = ""
    detail: str = ""
    # The question that was stored last, and a digest of the bare answer that was around when it was.
    asked: dict[str, str] | None = None
    container: bool = False
    # The request that a call waited for before its body began: its id, what was shown, and the decision once there is one.
    gate: dict[str, Any] | None = None
    payload: Any = None
    schema: Any = None
    decision: Any = None
    outcome: Any = None

    @property
    def gated(self) -> bool:
        """Whether the call waits for a person before its body ever began."""
        return self.state == "pending" and self.gate is not None and "decision" not in self.gate

    def but(self, **changes: Any) -> Self:
        """A copy with these fields changed."""
        return replace(self, **changes)


_STORED = tuple(field.name for field in fields(Entry) if field.name != "state")
_FIELDS = frozenset(_STORED)


def idempotency_key(call: CallId, seed: str) -> str:
    """64 hex digits that are equal for every attempt of this call and differ for every other call."""
    return hashlib.sha256("\x1f".join((call.run, call.key, call.digest, seed)).encode()).hexdigest()


def branch_key(call: CallId) -> str:
    """The call's key on a branch of the thread that runs it for itself."""
    return f"{call.key}#on:{hashlib.sha256(call.scope.encode()).hexdigest()[:16]}"


def question_id(call: CallId, *parts: str) -> str:
    """32 hex digits for a question about one exact attempt."""
    return hashlib.sha256("\x1f".join((call.run, call.key, *parts)).encode()).hexdigest()[:32]


def to_record(ring: KeyRing, call: CallId, segment: int, entry: Entry) -> CallRecord:
    """The entry, sealed for exactly this place in this run."""
    body = {name: getattr(entry, name) for name in _STORED}
    state = entry.state
    document = seal(
        ring, {"v": VERSION, **body}, _binding(call.run, segment, call.key, call.tool, state)
    )
    return CallRecord(key=call.key, tool=call.tool, state=state, document=document)


def from_record(ring: KeyRing, run: str, segment: int, record: CallRecord) -> Entry:
    """The entry of a stored record.

    Raises:
        CheckpointStoreCorrupt: the seal does not match, or the content is not an entry of a known schema.
    """
    binding = _binding(run, segment, record.key, record.tool, record.state)
    if record.document is None:
        raise CheckpointStoreCorrupt(run, f"call {record.key!r} has no document")
    body = unseal(ring, record.document, binding)
    if not isinstance(body, dict) or body.pop("v", None) != VERSION or body.keys() != _FIELDS:
        raise CheckpointStoreCorrupt(
            run, f"call {record.key!r} was written by a version that this one cannot read"
        )
    return Entry(state=record.state, **body)


def _binding(run: str, segment: int, key: str, tool: str, state: str) -> dict[str, str | int]:
    return {
        "kind": "call",
        "run_id": run,
        "segment": segment,
        "key": key,
        "tool": tool,
        "state": state,
    }
