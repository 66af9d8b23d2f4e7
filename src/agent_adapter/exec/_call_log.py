"""Sealed call records of journaled visits in a `CheckpointStore`: open a run, read it, compare-and-set one call.

A visit's run is a log without a position of its own: one head at step 0, made together with its first record,
and then only claims. Its segment number is random, so a worker that outlives a deletion cannot write into the
run's next life.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from agent_adapter._sealing import KeyRing, seal
from agent_adapter.errors import CheckpointConflict, ConfigError
from agent_adapter.exec._entries import CallId, Entry, from_record, to_record
from agent_adapter.exec.checkpoints import (
    CallClaims,
    CallLookup,
    CallRecord,
    Checkpoint,
    CheckpointKind,
    CheckpointStore,
)

KIND: CheckpointKind = "flow"
# Runs whose segment is remembered; forgetting one costs a point read.
REMEMBERED = 10_000


class Log(Protocol):
    """Where a ledger's records are: each visit's in a run of its own, or a loop's in the loop's run."""

    async def read(self, run: str) -> dict[str, tuple[CallRecord, Entry]]:
        """Every call of the run by key, in the order first written."""
        ...

    async def find(self, run: str, key: str) -> tuple[CallRecord, Entry] | None:
        """The record and entry of one call, None when there is none."""
        ...

    async def claim(
        self,
        call: CallId,
        entry: Entry,
        seen: CallRecord | None,
        *,
        life: int | None = None,
        fenced: bool = True,
    ) -> tuple[CallRecord, Entry, bool]:
        """Replace exactly `seen` by the entry; with `fenced` only for a worker that still has the run."""
        ...

    async def saved(self) -> None:
        """Wait until what the calls stand on is stored."""
        ...

    def segment(self, run: str) -> int | None:
        """The run's segment as it was last seen."""
        ...


class CallLog:
    """The journaled calls of one store, sealed with one key ring."""

    def __init__(self, store: CheckpointStore, ring: Callable[[], KeyRing]) -> None:
        if not isinstance(store, CallClaims):
            raise ConfigError(
                f"{type(store).__name__} has no claim_call/position (the CallClaims protocol): without a compare-and-set "
                "on single calls two workers could both run one; use a store that has it"
            )
        self.store = store
        self._claims: CallClaims = store
        self._lookup = store if isinstance(store, CallLookup) else None
        self._make_ring = ring
        self._ring: KeyRing | None = None
        self._segments: OrderedDict[str, int] = OrderedDict()

    async def ring(self) -> KeyRing:
        """The key ring; made on first use and off the loop, since it may create the store's key file."""
        if self._ring is None:
            self._ring = await asyncio.to_thread(self._make_ring)
        return self._ring

    async def read(self, run: str) -> dict[str, tuple[CallRecord, Entry]]:
        """Every call of the run by key, in the order first written; empty for an unknown run.

        Raises:
            CheckpointStoreCorrupt: a record's seal does not match.
        """
        segment = await self._segment(run)
        if segment is None:
            return {}
        records = await self.store.calls(run, segment)
        if not records and await self._segment(run, fresh=True) != segment:
            return await self.read(run)
        ring = await self.ring()
        return {record.key: (record, from_record(ring, run, segment, record)) for record in records}

    async def find(self, run: str, key: str) -> tuple[CallRecord, Entry] | None:
        """The record and entry of one call, None when there is none.

        Raises:
            CheckpointStoreCorrupt: the record's seal does not match.
        """
        if self._lookup is None:
            return (await self.read(run)).get(key)
        found = await self._lookup.find_call(run, key)
        if found is None:
            self._segments.pop(run, None)
            return None
        segment, record = found
        self._remember(run, segment)
        if record is None:
            return None
        return record, from_record(await self.ring(), run, segment, record)

    async def claim(
        self,
        call: CallId,
        entry: Entry,
        seen: CallRecord | None,
        *,
        life: int | None = None,
        fenced: bool = True,
    ) -> tuple[CallRecord, Entry, bool]:
        """Replace exactly `seen` by the entry. Returns the record that stands, its entry, and whether it is this one.

        Args:
            call: whose record it is.
            entry: what it is to say.
            seen: what it says now, None when there is none.
            life: the run's segment when the call was looked for, None when there was no run.
            fenced: see `Log.claim`.

        Raises:
            CheckpointConflict: the run was deleted meanwhile.
        """
        ring = await self.ring()
        # An unknown run is most often new: it is made without asking first, and a conflict says when that was wrong.
        segment = self._segments.get(call.run) if seen is None else await self._segment(call.run)
        if life is not None:
            segment = life
        while True:
            try:
                if segment is None:
                    return await self._open(ring, call, entry, seen)
                record = to_record(ring, call, segment, entry)
                standing = await self._claims.claim_call(call.run, segment, record, seen)
            except CheckpointConflict:
                fresh = await self._segment(call.run, fresh=True)
                if fresh == segment or seen is not None or life is not None:
                    raise
                segment = fresh
                continue
            if standing == record:
                return record, entry, True
            return standing, from_record(ring, call.run, segment, standing), False

    async def _open(
        self, ring: KeyRing, call: CallId, entry: Entry, seen: CallRecord | None
    ) -> tuple[CallRecord, Entry, bool]:
        """Make the run together with its first record; submitted as one, so that both share a commit."""
        if seen is not None:
            raise CheckpointConflict(
                call.run, f"the run was deleted while call {call.call_id!r} was under way"
            )
        segment = secrets.randbelow(2**53)
        record = to_record(ring, call, segment, entry)
        opened, claimed = await asyncio.gather(
            self.store.save(call.run, 0, _head(ring, call, segment)),
            self._claims.claim_call(call.run, segment, record, None),
            return_exceptions=True,
        )
        if isinstance(opened, BaseException):
            raise opened
        self._remember(call.run, segment)
        if isinstance(claimed, CheckpointConflict):
            # A store that does not run submissions in order looked before the head was there.
            claimed = await self._claims.claim_call(call.run, segment, record, None)
        if isinstance(claimed, BaseException):
            raise claimed
        if claimed == record:
            return record, entry, True
        return claimed, from_record(ring, call.run, segment, claimed), False

    async def saved(self) -> None:
        """Nothing: what a visit's calls stand on is the framework's to store."""

    def segment(self, run: str) -> int | None:
        """The run's segment as it was last seen, None for a run that was not there."""
        return self._segments.get(run)

    async def _segment(self, run: str, *, fresh: bool = False) -> int | None:
        if not fresh and (segment := self._segments.get(run)) is not None:
            return segment
        position = await self._claims.position(run)
        if position is None:
            self._segments.pop(run, None)
            return None
        self._remember(run, position[1])
        return position[1]

    def _remember(self, run: str, segment: int) -> None:
        self._segments[run] = segment
        while len(self._segments) > REMEMBERED:
            self._segments.popitem(last=False)


def _head(ring: KeyRing, call: CallId, segment: int) -> Checkpoint:
    lineage = secrets.token_hex(16)
    binding: dict[str, str | int] = {
        "kind": KIND,
        "run_id": call.run,
        "name": call.name,
        "status": "running",
        "step": 0,
        "segment": segment,
        "lineage": lineage,
    }
    document = seal(ring, {"v": 1}, binding)
    return Checkpoint(
        kind=KIND,
        name=call.name,
        status="running",
        segment=segment,
        document=document,
        lineage=lineage,
    )
