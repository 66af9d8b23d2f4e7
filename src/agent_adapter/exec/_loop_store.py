"""A loop's position in its store: a small sealed head, an append-only history, and the compare-and-set that moves both."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agent_adapter._canonical import ordered
from agent_adapter._sealing import KeyRing, seal, unseal
from agent_adapter.errors import CheckpointNotFound, CheckpointStoreCorrupt
from agent_adapter.exec._loop_messages import from_plain_message, plain_message
from agent_adapter.exec._loop_state import LoopState
from agent_adapter.exec._saving import Saving
from agent_adapter.exec.checkpoints import (
    Checkpoint,
    CheckpointKind,
    CheckpointStatus,
    DurableStore,
)
from agent_adapter.models import Message, ModelReply, Usage

VERSION = 1
# Room for as many turns as anybody will ever take, below what every store holds exactly.
_FIRST_SEGMENTS = 2**52
_NO_CHUNKS = ""


@dataclass(frozen=True)
class View:
    """What compression made of the first `covers` messages, so that nobody pays for it twice."""

    messages: tuple[Message, ...]
    covers: int


@dataclass(frozen=True)
class Stored:
    """A run as it was read.

    Attributes:
        kind: what it is a run of; of anything but a loop only this, the status and the name are known.
        status: under which it is stored.
        name: of the loop that wrote it.
        schema: the digest of its output schema, None for free text.
        state: where the loop is.
        used: what the run has used of its limits.
        view: see `View`.
    """

    kind: CheckpointKind
    status: CheckpointStatus
    name: str
    schema: str | None
    state: LoopState
    used: Mapping[str, float]
    view: View | None


class LoopStore:
    """The stored position of one run, as this worker last saved or read it.

    Args:
        store: where it is kept.
        ring: the keys that seal it.
        run_id: the run.
        name: the loop's stage.
        schema: see `Stored`.
    """

    def __init__(
        self, store: DurableStore, ring: KeyRing, run_id: str, *, name: str, schema: str | None
    ) -> None:
        self.store = store
        self.ring = ring
        self.run_id = run_id
        self.lineage = secrets.token_hex(16)
        self._name = name
        self._schema = schema
        self._step = -1
        self._segment = secrets.randbelow(_FIRST_SEGMENTS)
        self._chunks = 0
        self._chain = _NO_CHUNKS

    @property
    def name(self) -> str:
        """The stage of the loop that the run belongs to."""
        return self._name

    @property
    def position(self) -> tuple[int, int]:
        """The step and segment that this worker saved or read last."""
        return self._step, self._segment

    async def save(self, state: LoopState, used: Mapping[str, float], view: View | None) -> None:
        """The state, stored as the run's next position.

        Raises:
            CheckpointConflict: another worker moved the run, or (at the first save) the run exists.
            NotSealable: a message holds what is no plain JSON; nothing was stored.
        """
        await self.saving(state, used, view).now()

    def saving(self, state: LoopState, used: Mapping[str, float], view: View | None) -> Saving:
        """As `save`, to be handed over with the first record that stands on it."""
        chunks = _chunks_of(state.added)
        kept, self._chunks = self._chunks, self._chunks + len(chunks)
        self._chain = _chained(self._chain, chunks)
        self._step += 1
        if state.moved:
            self._segment += 1
        head = {
            "v": VERSION,
            "schema": self._schema,
            "phase": "calling" if state.phase == "paused" else state.phase,
            "turn": state.turn,
            "usage": [state.usage.input_tokens, state.usage.output_tokens, state.usage.cost],
            "used": dict(used),
            "view": view and [[plain_message(m) for m in view.messages], view.covers],
            "chunks": self._chunks,
            "chain": self._chain,
            # Equal positions of two workers are never equal documents.
            "writer": secrets.token_hex(16),
        }
        checkpoint = Checkpoint(
            kind="loop",
            name=self._name,
            status=state.status,
            segment=self._segment,
            document=seal(self.ring, head, self._binding(state.status)),
            history=tuple(chunks),
            kept=kept,
            lineage=self.lineage,
        )
        return Saving(partial(self.store.save, self.run_id, self._step, checkpoint))

    async def read(self) -> Stored:
        """The run as it is stored; nothing is written.

        Raises:
            CheckpointNotFound: nothing is stored under this run id.
            CheckpointStoreCorrupt: a seal or the history's chain does not match, or the document is of another version.
        """
        stored = await self.store.latest(self.run_id)
        if stored is None:
            raise CheckpointNotFound(self.run_id)
        checkpoint = stored.checkpoint
        self.lineage, self._name = checkpoint.lineage, checkpoint.name
        self._step, self._segment = stored.step, checkpoint.segment
        binding = {**self._binding(checkpoint.status), "kind": checkpoint.kind}
        head = unseal(self.ring, checkpoint.document, binding)
        if checkpoint.kind != "loop":
            return Stored(
                checkpoint.kind, checkpoint.status, checkpoint.name, None, _NOT_A_LOOP, {}, None
            )
        if head.get("v") != VERSION:
            raise self._corrupt("was written by a version that this one cannot read")
        history = checkpoint.history
        self._chain, self._chunks = _chained(_NO_CHUNKS, history), len(history)
        if (self._chunks, self._chain) != (head["chunks"], head["chain"]):
            raise self._corrupt("its history is not the one that its head was sealed with")
        messages = tuple(
            from_plain_message(plain) for chunk in history for plain in json.loads(chunk)
        )
        self._schema = head["schema"]
        state = LoopState(
            phase="paused" if checkpoint.status == "paused" else head["phase"],
            messages=messages,
            turn=head["turn"],
            usage=Usage(*head["usage"]),
            reply=_last_reply(messages),
        )
        view = head["view"] and View(
            tuple(map(from_plain_message, head["view"][0])), head["view"][1]
        )
        return Stored(
            "loop", checkpoint.status, checkpoint.name, self._schema, state, head["used"], view
        )

    def _binding(self, status: CheckpointStatus) -> dict[str, str | int]:
        return {
            "kind": "loop",
            "run_id": self.run_id,
            "name": self._name,
            "status": status,
            "step": self._step,
            "segment": self._segment,
            "lineage": self.lineage,
        }

    def _corrupt(self, reason: str) -> CheckpointStoreCorrupt:
        return CheckpointStoreCorrupt(self.run_id, reason)


_NOT_A_LOOP = LoopState("ended", ())


def _chunks_of(messages: Sequence[Message]) -> list[str]:
    return [ordered([plain_message(message) for message in messages])] if messages else []


def _chained(chain: str, chunks: Sequence[str]) -> str:
    """The chain after these chunks. It needs no key: its value stands in the sealed head."""
    for chunk in chunks:
        link = hashlib.sha256(chunk.encode()).hexdigest()
        chain = hashlib.sha256(f"{chain}\n{link}".encode()).hexdigest()
    return chain


def _last_reply(messages: Sequence[Message]) -> ModelReply | None:
    for message in reversed(messages):
        if message.role == "assistant":
            return ModelReply(message.content, message.calls, extra=message.extra)
    return None
