"""The call log of a loop's present turn: records in the loop's own run, fenced by the step of its position."""

from agent_adapter._sealing import KeyRing
from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._entries import CallId, Entry, from_record, to_record
from agent_adapter.exec._saving import Saving
from agent_adapter.exec.checkpoints import CallLookup, CallRecord, DurableStore

Records = dict[str, CallRecord]
Opened = dict[str, tuple[CallRecord, Entry]]


class LoopLog:
    """The calls of one position: of this run, in this segment, at this step.

    A record that begins a call is stored only while the position is the one given here, so whoever was cut off begins
    nothing more. What was read when the turn began is used once for each call and read anew after that.

    Args:
        store: where the run is kept.
        ring: the keys of its documents.
        run_id: the run.
        position: (step, segment) of the run as this worker saved it.
        known: the records that were read at this position.
        saving: the save of the position, when it is still to come: it may share its commit with the first record.
        opened: records whose seal was checked already; shared by the looks of one recovery.
    """

    def __init__(
        self,
        store: DurableStore,
        ring: KeyRing,
        run_id: str,
        position: tuple[int, int],
        *,
        known: Records | None = None,
        saving: Saving | None = None,
        opened: Opened | None = None,
    ) -> None:
        self._store = store
        self._ring = ring
        self._run_id = run_id
        self._step, self._segment = position
        self._known = dict(known or {})
        self._met: set[str] = set()
        self._saving = saving
        self.opened: Opened = {} if opened is None else opened

    async def read(self, run: str) -> dict[str, tuple[CallRecord, Entry]]:
        """Every call of the position by key, in the order first written."""
        await self.saved()
        records = await self._store.calls(run, self._segment)
        return {record.key: (record, self._entry(record)) for record in records}

    async def find(self, run: str, key: str) -> tuple[CallRecord, Entry] | None:
        """The record and entry of one call, None when there is none.

        Raises:
            CheckpointConflict: the run has gone on without this worker.
        """
        if key not in self._met:
            self._met.add(key)
            record = self._known.get(key)
        else:
            record = await self._read(run, key)
        return None if record is None else (record, self._entry(record))

    async def _read(self, run: str, key: str) -> CallRecord | None:
        await self.saved()
        if not isinstance(self._store, CallLookup):
            records = await self._store.calls(run, self._segment)
            return next((record for record in records if record.key == key), None)
        found = await self._store.find_call(run, key)
        if found is None or found[0] != self._segment:
            raise CheckpointConflict(run, "the run has gone on without this worker")
        return found[1]

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

        Raises:
            CheckpointConflict: the run has gone on without this worker; nothing was stored.
        """
        del life  # a position has one segment
        record = to_record(self._ring, call, self._segment, entry)
        step = self._step if fenced else None
        saving = self._saving if self._saving is not None and not self._saving.done else None
        if saving is not None:
            await saving.hand_over()
        try:
            standing = await self._store.claim_call(
                call.run, self._segment, record, seen, step=step
            )
        except CheckpointConflict:
            if saving is None:
                raise
            # The store took the record before the position that it belongs to.
            await self.saved()
            standing = await self._store.claim_call(
                call.run, self._segment, record, seen, step=step
            )
        if standing == record:
            return record, entry, True
        return standing, self._entry(standing), False

    async def saved(self) -> None:
        """Wait until the position is stored.

        Raises:
            CheckpointConflict: another worker took the run; and whatever else the save raised.
        """
        if self._saving is not None:
            await self._saving.end()
            self._saving = None

    def segment(self, run: str) -> int | None:
        """The segment of the position."""
        del run  # there is one
        return self._segment

    def _entry(self, record: CallRecord) -> Entry:
        opened = self.opened.get(record.key)
        if opened is not None and opened[0] == record:
            return opened[1]
        entry = from_record(self._ring, self._run_id, self._segment, record)
        self.opened[record.key] = record, entry
        return entry
