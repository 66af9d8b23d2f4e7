"""The sealing key of a SQLite store: a file beside the database, whose fingerprint the database keeps."""

import hashlib
import os
import secrets
import sqlite3
from pathlib import Path

from agent_adapter._sqlite._schema import meta, set_meta
from agent_adapter.errors import ConfigError

FINGERPRINT = "key_fingerprint"
SHORTEST_KEY = 32
_DOMAIN = b"agent-adapter checkpoint key fingerprint 1\0"


def settled_key(connection: sqlite3.Connection, database: str) -> bytes:
    """The key in `<database>.key`, made if the database has none yet.

    The caller holds the database's write lock, so of two processes one makes the key and the other finds it.

    Raises:
        ConfigError: the database is bound to a key that is not in the file, or the file holds no key.
    """
    path = Path(f"{database}.key")
    bound = meta(connection, FINGERPRINT)
    try:
        key = path.read_bytes().strip()
    except FileNotFoundError:
        if bound is not None:
            raise _refusal(path, database, "is missing") from None
        key = _make(path)
    if len(key) < SHORTEST_KEY:
        raise _refusal(path, database, f"has {len(key)} bytes instead of {SHORTEST_KEY} or more")
    fingerprint = hashlib.sha256(_DOMAIN + key).hexdigest()[:32]
    if bound is None:
        set_meta(connection, FINGERPRINT, fingerprint)
    elif not secrets.compare_digest(bound, fingerprint):
        raise _refusal(path, database, "holds another key than the one that sealed these runs")
    return key


def _make(path: Path) -> bytes:
    key = secrets.token_urlsafe(SHORTEST_KEY).encode()
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    if hasattr(os, "O_DIRECTORY"):
        # The name must be on disk before the fingerprint is.
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return key


def _refusal(path: Path, database: str, problem: str) -> ConfigError:
    return ConfigError(
        f"key file {path} {problem}; the runs in {database} were sealed with it. Restore the file, or pass that key "
        "as checkpoint_key"
    )
