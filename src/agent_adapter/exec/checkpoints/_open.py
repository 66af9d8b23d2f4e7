"""A store from what a user passes: a path, a sqlite:/// URL, or a store object."""

import os
import re

from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints._port import CallClaims, CheckpointStore, DurableStore
from agent_adapter.exec.checkpoints._sqlite import SQLiteCheckpointStore

# Two letters at least: C:// is a drive.
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<rest>.*)", re.DOTALL)


def open_store(store: str | os.PathLike[str] | CheckpointStore) -> DurableStore:
    """The store itself, or a SQLiteCheckpointStore on the path or the `sqlite:///path` URL.

    As elsewhere, `sqlite:///runs.db` is relative and `sqlite:////var/runs.db` absolute. Nothing is opened yet.

    Raises:
        ConfigError: a URL of another kind, a path that names no file, or an object that is no store or has no
            `claim_call` and `position` (the CallClaims protocol).
    """
    if isinstance(store, str):
        url = _URL.fullmatch(store)
        return SQLiteCheckpointStore(store if url is None else _path(store, url))
    if isinstance(store, os.PathLike):
        return SQLiteCheckpointStore(store)
    if isinstance(store, type) or not isinstance(store, CheckpointStore):
        raise ConfigError(
            f"{store!r} is neither a path, a sqlite:/// URL nor an object with the methods of CheckpointStore"
        )
    if not isinstance(store, CallClaims):
        raise ConfigError(
            f"{type(store).__name__} has no claim_call and position (the CallClaims protocol); without them two "
            "workers could run one call. Use a store that has them"
        )
    return store


def _path(store: str, url: re.Match[str]) -> str:
    if url["scheme"].lower() != "sqlite":
        raise ConfigError(
            f"{url['scheme']}:// is not supported: this version keeps runs in memory (MemoryCheckpointStore()) or in "
            "SQLite (a path, or sqlite:///path)"
        )
    rest = url["rest"]
    if not rest.startswith("/") or len(rest) == 1 or "?" in rest or "#" in rest:
        raise ConfigError(f"{store!r} must be sqlite:///path, without host and options")
    return rest[1:]
