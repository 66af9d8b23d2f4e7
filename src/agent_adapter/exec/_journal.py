"""Journal: the finished calls of one visit, replayed when the visit is entered again."""

import hashlib
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeGuard

from agent_adapter._canonical import digest, encode
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable, ToolUsageError
from agent_adapter.exec._journal_data import (
    RAN_UNKEYED,
    Decoder,
    Encoder,
    JournalData,
    check_data,
    from_entry,
    to_entry,
    why_unrecorded,
)
from agent_adapter.exec._slot import Observer, Recorder, Slot
from agent_adapter.exec.control import is_control_flow
from agent_adapter.policies import ToolPolicy

_UNKEYED = "unkeyed"


class Journal:
    """The calls of one visit. Each is claimed in the order of the visit's code, run, and recorded when it has finished.

    Attributes:
        failure: the first error of the record here or in a child (an observer failed, a call cannot be replayed); a
            visit with one has to be entered again.
        parked: the requests of the calls here and below that wait for a person, in the order in which they were asked.
    """

    def __init__(
        self,
        data: JournalData,
        *,
        encoder: Encoder | None,
        decoder: Decoder | None,
        observer: Observer | None,
        path: str = "",
        parent: "Journal | None" = None,
        calls: bool = True,
    ) -> None:
        self.failure: BaseException | None = None
        self.parked: list[ApprovalRequest] = []
        self._encoder = encoder
        self._decoder = decoder
        self._observer = observer
        self._recorder = observer if observer is not None and _is_recorder(observer) else None
        self._path = path
        self._parent = parent
        self._claims_calls = calls
        self._closed = False
        self._calls: dict[str, Any] = dict(data.get("calls", {}))
        # What is below: the data until somebody enters it in this visit, then the journal.
        self._inside: dict[str, JournalData | Journal] = dict(data.get("inside", {}))
        self._children: dict[str, JournalData | Journal] = dict(data.get("children", {}))
        # The ids of requests that were asked and not answered yet, so that asking again is the same request.
        self._asked: dict[str, Any] = dict(data.get("asked", {}))
        self._seen: Counter[str] = Counter()
        self._unfinished: set[str] = set()
        self._claimed: set[str] = set()
        self._life = ""

    @property
    def durable(self) -> bool:
        """Whether an observer is told of every call."""
        return self._observer is not None

    @property
    def has_record(self) -> bool:
        """Whether the observer is a `Recorder`, which is asked before any policy and told of calls that end without result."""
        return self._recorder is not None

    def encoded(self, arguments: Mapping[str, Any]) -> Any:
        """The stored form of arguments.

        Raises:
            NotSealable: they have none.
        """
        return encode(dict(arguments), encoder=self._encoder)

    def child(self, name: str, seed: JournalData | None = None, *, calls: bool = True) -> "Journal":
        """The journal of a part of this visit, by name and occurrence.

        Without a record of its own it starts from `seed`.
        With `calls=False` its own calls are not journaled, those of its children are.

        Raises:
            ToolUsageError: `seed` is not the data of a journal.
        """
        base = _escaped(name)
        key = f"{base}:{self._seen[f'child {base}']}"
        self._seen[f"child {base}"] += 1
        recorded = _recorded(self._children.get(key))
        if recorded is None:
            recorded = {} if seed is None else _owned(seed)
        return self._enter(self._children, key, recorded, calls=calls)

    def inside(self, slot: Slot) -> "Journal":
        """The journal of the calls that the body of this call makes, dropped when the call is recorded.

        Each time it is asked for, the body begins anew: what it finished before is replayed to it.
        """
        local = self._local(slot)
        return self._enter(self._inside, local, _recorded(self._inside.get(local)) or {})

    def claim(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        returns: Any = None,
        *,
        key: str | None = None,
        policy: ToolPolicy | None = None,
    ) -> Slot | None:
        """The slot of the next call of this tool with these arguments; None when the journal keeps no calls (any more).

        `key` names the call in place of its occurrence, for callers whose calls have names and come in any order. The
        observer finds `policy` on the slot.

        Raises:
            ToolUsageError: the call ran before and could not be recorded, so it can neither be replayed nor run again;
                or a call named by `key` is still unfinished.
            NotSealable: the recorded result's class is not reachable from `returns`.
        """
        if self._closed or not self._claims_calls:
            return None
        slot = self._place(tool, arguments, key)
        slot.returns, slot.policy = returns, policy or slot.policy
        local = self._local(slot)
        slot.asked = local in self._asked
        self._claimed.add(local)
        with self._failing():
            entry = self._calls.get(local)
            if entry is None:
                if local in self._unfinished:
                    raise ToolUsageError(
                        f"call {slot.key!r} was claimed in this visit and has not finished"
                    )
                self._unfinished.add(local)
                return slot
            if (reason := why_unrecorded(entry)) is not None:
                raise ToolUsageError(
                    f"call {slot.key!r} already ran, and {reason}: it is not run again and cannot be replayed"
                )
            slot.kept, slot.spent = entry, entry.get("spent", {})
            slot.result = from_entry(entry, tool, returns, self._decoder)
            return slot

    def unclaimed(self) -> list[str]:
        """The calls on record here that nobody made in this visit."""
        return [key for key in self._calls if key not in self._claimed]

    def record(self, slot: Slot, result: ToolResult) -> None:
        """Keep a finished call; what is pending or was cancelled has not finished and is not kept."""
        local = self._local(slot)
        self._unfinished.discard(local)
        if result.status in ("pending", "cancelled"):
            return
        if slot.digest is not None:
            slot.kept = to_entry(result, slot.returns, self._encoder, self._decoder, slot.spent)
        elif result.status != "denied":
            slot.kept = RAN_UNKEYED
        if self._closed:
            return
        self._inside.pop(local, None)
        self._asked.pop(local, None)
        if slot.kept is not None:
            self._calls[local] = slot.kept

    async def look(self, slot: Slot) -> ToolResult | None:
        """The result that is recorded for the call, before any policy is applied; None when the call is not over."""
        if slot.result is not None or self._recorder is None:
            return slot.result
        with self._failing():
            return await self._recorder.look(slot)

    async def started(self, slot: Slot) -> ToolResult | None:
        """The observer's answer to a call that is about to begin, None when the body has to run."""
        if self._observer is None:
            return None
        with self._failing():
            return await self._observer.started(slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Tell the observer how the call ended; call it after `record`."""
        if self._observer is not None:
            with self._failing():
                await self._observer.settle(slot, result)

    @property
    def life(self) -> str:
        """What names the visit whenever it is entered; made once where nobody outside names it."""
        if self._recorder is not None:
            return self._recorder.life
        if self._parent is not None:
            return self._parent.life
        self._life = self._life or secrets.token_hex(16)
        return self._life

    def request_of(self, slot: Slot, shown: str) -> tuple[str, str | None]:
        """The id of the request that this call makes for arguments of the digest `shown`, and the run's id.

        It is the same whenever the call is met again with these arguments, and another for every other call.
        """
        if self._recorder is not None:
            parts = (self._recorder.life, slot.key, shown)
            name = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
            return name, self._recorder.run_id
        asked = self._asked.get(self._local(slot))
        known = asked is not None and asked["digest"] == shown
        return (asked["id"] if asked and known else secrets.token_hex(16)), None

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision that the observer knows of, None when somebody has to be asked."""
        if self._recorder is None:
            return None
        with self._failing():
            return await self._recorder.decide(slot, request)

    async def park(self, slot: Slot, request: ApprovalRequest) -> None:
        """Note that the call waits for a person."""
        self.note_parked(request)
        if not self._closed:
            self._asked[self._local(slot)] = {"id": request.id, "digest": request.digest}
        if self._recorder is not None:
            with self._failing():
                await self._recorder.park(slot, request)

    def note_parked(self, request: ApprovalRequest) -> None:
        """Something here waits for a person, so that whatever is above has not finished either."""
        self.parked.append(request)
        if self._parent is not None:
            self._parent.note_parked(request)

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """Tell the observer that the call ends without a result."""
        self._unfinished.discard(self._local(slot))
        if self._recorder is not None:
            with self._failing():
                await self._recorder.leave(slot, error)

    async def late(self, slot: Slot, result: ToolResult) -> None:
        """Tell the observer how a body ended that nobody waits for any more."""
        if self._recorder is not None:
            await self._recorder.late(slot, result)

    def close(self) -> None:
        """Claim and keep nothing from now on, here and in every child; the data stays as it is."""
        self._closed = True
        for below in (*self._inside.values(), *self._children.values()):
            if isinstance(below, Journal):
                below.close()

    def data(self, drop: Collection[str] = ()) -> JournalData:
        """Everything recorded, as plain JSON that `make_journal` takes; children of a name in `drop` are left out."""
        dropped = {_escaped(name) for name in drop}
        kept = {
            key: below
            for key, below in self._children.items()
            if key.rpartition(":")[0] not in dropped
        }
        parts = {
            "calls": deepcopy(dict(sorted(self._calls.items()))),
            "asked": deepcopy(dict(sorted(self._asked.items()))),
            "inside": _data_of(self._inside),
            "children": _data_of(kept),
        }
        return {name: part for name, part in parts.items() if part}

    def _place(self, tool: str, arguments: Mapping[str, Any], key: str | None) -> Slot:
        """The next free slot for these arguments, or the one that `key` names."""
        try:
            plain = self.encoded(arguments)
            identity = digest(plain)
        except NotSealable:
            plain = identity = None
        base = f"{_escaped(tool)}:{identity or _UNKEYED}"
        occurrence = 0
        if key is None:
            occurrence = self._seen[base]
            self._seen[base] += 1
        last = occurrence if key is None else f"@{_escaped(key)}"
        return Slot(tool, plain, identity, occurrence, self._path, f"{self._path}{base}:{last}")

    def _local(self, slot: Slot) -> str:
        return slot.key.removeprefix(self._path)

    def _enter(
        self,
        below: dict[str, "JournalData | Journal"],
        key: str,
        data: JournalData,
        *,
        calls: bool = True,
    ) -> "Journal":
        journal = Journal(
            data,
            encoder=self._encoder,
            decoder=self._decoder,
            observer=self._observer,
            path=f"{self._path}{key}/",
            parent=self,
            calls=calls,
        )
        if self._closed:
            journal.close()
        else:
            below[key] = journal
        return journal

    def fail(self, exc: BaseException) -> None:
        """Note an error of the record, here and above."""
        self.failure = self.failure or exc
        if self._parent is not None:
            self._parent.fail(exc)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except BaseException as exc:
            if not is_control_flow(exc):
                self.fail(exc)
            raise


def make_journal(
    data: JournalData | None = None,
    *,
    encoder: Encoder | None = None,
    decoder: Decoder | None = None,
    observer: Observer | None = None,
) -> Journal:
    """A journal that replays `data`, the calls that an earlier visit recorded.

    `encoder` and `decoder` are those of `encode` and `decode`, for values that have no stored form by themselves.

    Raises:
        ToolUsageError: `data` is not the data of a journal.
    """
    owned = {} if data is None else _owned(data)
    return Journal(owned, encoder=encoder, decoder=decoder, observer=observer)


def _is_recorder(observer: Observer) -> TypeGuard[Recorder]:
    # A protocol's own check looks at every member, for each journal of each call; that is for strangers.
    kind = type(observer)
    if kind not in _recorders:
        _recorders[kind] = isinstance(observer, Recorder)
    return _recorders[kind]


_recorders: dict[type, bool] = {}


def _owned(data: JournalData) -> JournalData:
    check_data(data)
    return deepcopy(data)


def _recorded(below: "JournalData | Journal | None") -> JournalData | None:
    return below.data() if isinstance(below, Journal) else deepcopy(below)


def _data_of(below: Mapping[str, "JournalData | Journal"]) -> JournalData:
    found = {key: _recorded(part) for key, part in sorted(below.items())}
    return {key: part for key, part in found.items() if part}


def _escaped(name: str) -> str:
    """The name without the characters that separate the parts of a key."""
    if ":" not in name and "/" not in name and "%" not in name:
        return name
    return name.replace("%", "%25").replace("/", "%2F").replace(":", "%3A")
