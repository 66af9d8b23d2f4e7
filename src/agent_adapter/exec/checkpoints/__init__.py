"""Stores of durable runs: the protocols, the stores in memory and in SQLite, and the key of the running call."""

from agent_adapter.exec._call_key import idempotency_key
from agent_adapter.exec.checkpoints._memory import MemoryCheckpointStore
from agent_adapter.exec.checkpoints._open import open_store
from agent_adapter.exec.checkpoints._port import (
    CallClaims,
    CallLookup,
    CallRecord,
    CallState,
    Checkpoint,
    CheckpointKind,
    CheckpointStatus,
    CheckpointStore,
    DurableStore,
    EmbeddedKey,
    Liveness,
    OwnerState,
    RunInfo,
    RunListing,
    StoredCheckpoint,
)
from agent_adapter.exec.checkpoints._sqlite import SQLiteCheckpointStore

__all__ = [
    "CallClaims",
    "CallLookup",
    "CallRecord",
    "CallState",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointStatus",
    "CheckpointStore",
    "DurableStore",
    "EmbeddedKey",
    "Liveness",
    "MemoryCheckpointStore",
    "OwnerState",
    "RunInfo",
    "RunListing",
    "SQLiteCheckpointStore",
    "StoredCheckpoint",
    "idempotency_key",
    "open_store",
]
