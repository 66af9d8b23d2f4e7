"""What a store of durable runs keeps and promises: its values and its protocols.

A backend implements the protocols by shape and inherits nothing; the argument checks that all of them share are in
`_checks`. Documents and history chunks are opaque text here: they are sealed and read by the loop and the ledger.
"""

from typing import Annotated, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

CallState = Literal["started", "done", "pending", "unrecordable"]
CheckpointKind = Literal["flow", "loop"]
CheckpointStatus = Literal["running", "paused", "done", "denied", "failed"]
OwnerState = Literal["alive", "dead", "unknown"]

# Every backend must hold the number exactly, and Redis scripts count in doubles.
LARGEST_NUMBER = 2**53 - 1

Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST_NUMBER)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallRecord(_Value):
    """What is known of one call: the state it reached and the sealed document that says the rest."""

    key: str = Field(min_length=1)
    tool: str
    state: CallState
    document: str | None = None


class Checkpoint(_Value):
    """A run's position: what it is, how it stands, and its sealed head.

    Attributes:
        segment: the number of the call log that belongs to this position.
        document: the sealed head, opaque to the store.
        history: the chunks that this save adds.
        kept: how many stored chunks stay before them: all to append, 0 to rewrite.
        lineage: the random name of this life of the run id, made at step 0.
    """

    kind: CheckpointKind
    name: str
    status: CheckpointStatus
    segment: Count
    document: str
    history: tuple[str, ...] = ()
    kept: Count = 0
    lineage: str = ""


class StoredCheckpoint(_Value):
    """The latest position of a run; its checkpoint's `history` is every chunk that is kept, in order."""

    step: Count
    checkpoint: Checkpoint


class RunInfo(_Value):
    """One run as a list shows it, without its document. `saved_at` is in epoch seconds."""

    run_id: str
    name: str
    kind: CheckpointKind
    status: CheckpointStatus
    step: Count
    segment: Count
    saved_at: float


@runtime_checkable
class CheckpointStore(Protocol):
    """Keeps the position of each run and the call log of its current segment.

    Compare-and-set on the step decides every race: of two workers that save the same step one returns and the other
    gets `CheckpointConflict`. A method that returned has stored what it says, also across a power cut where the
    backend keeps anything at all. Errors of the backend propagate.
    """

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        """The run's new position, stored if `step` is the next one.

        Step 0 starts a run that is not stored; any other step is the stored one plus 1, in the same lineage and in
        no lower segment. A higher segment drops the call log of the one before in the same atomic step.

        Raises:
            CheckpointConflict: the step, lineage or segment does not follow on what is stored; nothing changed.
            ToolUsageError: a bad run id, step or checkpoint; nothing changed.
        """
        ...

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        """The run's latest checkpoint, or None when nothing is stored.

        Raises:
            CheckpointStoreCorrupt: what is stored is unreadable or contradicts itself.
            ToolUsageError: a bad run id.
        """
        ...

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        """The record stored under `call.key`, whatever stood there; a known key keeps its place in the order.

        Raises:
            CheckpointConflict: the segment is not the run's current one, or the run is unknown; nothing changed.
            ToolUsageError: a bad run id, segment or record.
        """
        ...

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        """The segment's records in the order in which their keys were first written; [] when there are none.

        Raises:
            CheckpointStoreCorrupt: a stored record is unreadable.
            ToolUsageError: a bad run id or segment.
        """
        ...

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        """The ids of the runs whose status is `running`, the one that was saved longest ago first.

        Raises:
            ConfigError: `limit` is negative or not a number, or `name` is not a string.
        """
        ...

    async def delete(self, run_id: str) -> bool:
        """Whether anything was stored; afterwards nothing is, and step 0 starts the run anew.

        Raises:
            ToolUsageError: a bad run id.
        """
        ...


@runtime_checkable
class CallClaims(Protocol):
    """Compare-and-set on a single call: how two workers at one call find out which of them has it."""

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        """The record that stands under `call.key` afterwards: equal to `call` means that it is yours.

        `call` is stored only if the stored record equals `seen` (None: there is none). A stored record that equals
        `call` already counts as yours: the answer of an earlier try was lost. Any other record is left as it is.

        Raises:
            CheckpointConflict: the segment, or the step where one is given, is not current, or `seen` is given and no
                record of the call is stored; nothing changed.
            CheckpointStoreCorrupt: the stored record is unreadable.
            ToolUsageError: a bad argument, or `seen` has another key than `call`.
        """
        ...

    async def position(self, run_id: str) -> tuple[int, int] | None:
        """The run's step and segment without reading its document, or None when nothing is stored.

        Raises:
            ToolUsageError: a bad run id.
        """
        ...


@runtime_checkable
class CallLookup(Protocol):
    """Finds one call without reading the log around it; a ledger uses it where a store has it."""

    async def find_call(self, run_id: str, key: str) -> tuple[int, CallRecord | None] | None:
        """The run's current segment and the record under `key` in it, or None; None alone for an unknown run.

        Raises:
            CheckpointStoreCorrupt: what is stored is unreadable.
            ToolUsageError: a bad run id or key.
        """
        ...


@runtime_checkable
class DurableStore(CheckpointStore, CallClaims, Protocol):
    """Both halves together: what the loop and the bridges need."""


@runtime_checkable
class RunListing(Protocol):
    """Lists the stored runs and clears away the ended ones."""

    async def list_runs(
        self,
        *,
        name: str | None = None,
        kind: CheckpointKind | None = None,
        status: CheckpointStatus | None = None,
        saved_before: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunInfo]:
        """The runs that fit every filter, ordered by run id; the next page starts `after` the last id of this one.

        Raises:
            ConfigError: a filter is of the wrong type or unknown, or `limit` is negative.
            CheckpointStoreCorrupt: a stored run contradicts itself.
        """
        ...

    async def prune(
        self, older_than_s: float, *, name: str | None = None, limit: int = 1000
    ) -> int:
        """How many ended runs were deleted: done, denied or failed, and last saved at least so long ago.

        A running or paused run is never deleted, however old.

        Raises:
            ConfigError: `older_than_s` is not a finite number from 0 on, or `limit` is negative.
        """
        ...


@runtime_checkable
class EmbeddedKey(Protocol):
    """Has a sealing key of its own, so that nobody needs to set one up."""

    def embedded_key(self) -> bytes:
        """The key of this store, made on first use. Blocks on files and locks: call it off the event loop.

        Raises:
            ConfigError: the key that this store's runs were sealed with is missing or was replaced.
        """
        ...


@runtime_checkable
class Liveness(Protocol):
    """Knows whether the process that wrote an owner token still lives."""

    def owner(self) -> str:
        """The token that names this process, valid until it ends."""
        ...

    def liveness(self, owner: str) -> OwnerState:
        """Whether the process of the token lives; "dead" only when that is certain. Never raises."""
        ...
