"""Journal: the finished calls of one visit, replayed when the visit is entered again."""

from collections import Counter
from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from agent_adapter._canonical import digest, encode
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable, ToolUsageError
from agent_adapter.exec._journal_data import (
    RAN_UNKEYED,
    Decoder,
    Encoder,
    JournalData,
    from_entry,
    owned,
    to_entry,
    why_unrecorded,
)
from agent_adapter.exec._slot import Observer, Slot
from agent_adapter.exec._told import Told
from agent_adapter.policies import ToolPolicy

_UNKEYED = "unkeyed"


class Journal(Told):
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
        super().__init__(observer, path=path, parent=parent, asked=data.get("asked", {}))
        self._encoder = encoder
        self._decoder = decoder
        self._claims_calls = calls
        self._calls: dict[str, Any] = dict(data.get("calls", {}))
        # What is below: the data until somebody enters it in this visit, then the journal.
        self._inside: dict[str, JournalData | Journal] = dict(data.get("inside", {}))
        self._children: dict[str, JournalData | Journal] = dict(data.get("children", {}))
        self._seen: Counter[str] = Counter()
        self._unfinished: set[str] = set()
        self._claimed: set[str] = set()

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
            recorded = {} if seed is None else owned(seed)
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
        step: str | None = None,
        policy: ToolPolicy | None = None,
    ) -> Slot | None:
        """The slot of the next call of this tool with these arguments; None when the journal keeps no calls (any more).

        `key` names the call in place of its occurrence, for callers whose calls have names and come in any order. `step`
        names the step that makes it, for plans: only equal calls of equal steps are told apart by their occurrence. The
        observer finds `policy` on the slot.

        Raises:
            ToolUsageError: the call ran before and could not be recorded, so it can neither be replayed nor run again;
                or a call named by `key` is still unfinished.
            NotSealable: the recorded result's class is not reachable from `returns`.
        """
        if self._closed or not self._claims_calls:
            return None
        slot = self._place(tool, arguments, key, step)
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

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """The call ends without a result: it may be claimed again, and the observer is told."""
        self._unfinished.discard(self._local(slot))
        await super().leave(slot, error)

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

    def _place(
        self, tool: str, arguments: Mapping[str, Any], key: str | None, step: str | None
    ) -> Slot:
        """The next free slot for these arguments, or the one that `key` names."""
        try:
            plain = self.encoded(arguments)
            identity = digest(plain)
        except NotSealable:
            plain = identity = None
        base = f"{_escaped(tool)}:{identity or _UNKEYED}"
        counted = base if step is None else f"{base}:{_escaped(step)}"
        occurrence = 0
        if key is None:
            occurrence = self._seen[counted]
            self._seen[counted] += 1
        last = str(occurrence) if step is None else f"@{_escaped(step)}.{occurrence}"
        if key is not None:
            last = f"@{_escaped(key)}"
        return Slot(tool, plain, identity, occurrence, self._path, f"{self._path}{base}:{last}")

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
    own = {} if data is None else owned(data)
    return Journal(own, encoder=encoder, decoder=decoder, observer=observer)


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
