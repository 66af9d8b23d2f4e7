"""The tables of a SQLite store, and what must be true of a file before anything is written to it."""

import sqlite3
from collections.abc import Collection

from agent_adapter.errors import ConfigError

VERSION = 1

# One integer names a run in every table, so a run id is stored once. Texts are what `_pack` makes of them.
# history.id is run << 32 | n, which needs no index and keeps the chunks of a run together; it is a rowid table since
# WITHOUT ROWID puts every row over 1 kB on an overflow page. A call's key and its record are two rows: the key never
# changes, and replacing a record then rewrites one page. record ids are the order in which the keys came.
_TABLES = {
    "agent_adapter_checkpoints": """(
        run INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, lineage TEXT NOT NULL, step INTEGER NOT NULL,
        segment INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
        document BLOB NOT NULL, chunks INTEGER NOT NULL, saved_at REAL NOT NULL)""",
    "agent_adapter_history": "(id INTEGER PRIMARY KEY, chunk BLOB NOT NULL)",
    "agent_adapter_calls": """(
        run INTEGER NOT NULL, key TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID""",
    "agent_adapter_records": """(
        id INTEGER PRIMARY KEY, tool TEXT NOT NULL, state TEXT NOT NULL, document BLOB)""",
    "agent_adapter_meta": "(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "agent_adapter_approvals": """(
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run_id TEXT, tool TEXT NOT NULL, digest TEXT NOT NULL,
        state TEXT NOT NULL, document BLOB NOT NULL)""",
}
# Made where they are missing. Who does not know such a table does not touch it, so the version stays.
_ADDED = {"agent_adapter_approvals"}
# Partial, so that a save that leaves the status alone touches none of them.
_INDEXES = {
    "agent_adapter_unfinished": "agent_adapter_checkpoints (name) WHERE status = 'running'",
    "agent_adapter_ended": (
        "agent_adapter_checkpoints (saved_at) WHERE status IN ('done', 'denied', 'failed')"
    ),
    "agent_adapter_waiting": "agent_adapter_approvals (n) WHERE state = 'waiting'",
}


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Nothing, once the file is one of ours and the connection writes to it power-safe.

    Raises:
        ConfigError: the file has foreign tables of our names, a schema that this version does not know, or no WAL; it
            was not modified.
    """
    connection.execute("BEGIN")
    try:
        # A read of the file, so that all of the inspection sees one state: another process may be making the tables.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        missing = _missing(connection, path)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise ConfigError(
            f"{path}: SQLite cannot keep a write-ahead log here (journal_mode stays {mode}); put the database on a "
            "local file system"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = FAST")
    if not missing:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        missing = _missing(connection, path)
        for statement in _statements(missing):
            connection.execute(statement)
        if "agent_adapter_meta" in missing:
            set_meta(connection, "schema", str(VERSION))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def meta(connection: sqlite3.Connection, key: str) -> str | None:
    """The value that the file keeps under `key`, or None."""
    row = connection.execute(
        "SELECT value FROM agent_adapter_meta WHERE key = ?", (key,)
    ).fetchone()
    return None if row is None else str(row[0])


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Nothing, once the file keeps `value` under `key`."""
    connection.execute("INSERT OR REPLACE INTO agent_adapter_meta VALUES (?, ?)", (key, value))


def _missing(connection: sqlite3.Connection, path: str) -> list[str]:
    """The names of our tables that the file does not have yet.

    Raises:
        ConfigError: it has something else under our names.
    """
    found = {
        name: [column[1] for column in connection.execute(f"PRAGMA table_info({name})")]
        for name in _TABLES
    }
    if not any(found.values()):
        return list(_TABLES)
    if not found["agent_adapter_meta"]:
        raise _foreign(path, next(name for name, columns in found.items() if columns))
    if not found["agent_adapter_meta"] == ["key", "value"]:
        raise _foreign(path, "agent_adapter_meta")
    version = meta(connection, "schema")
    if version is None or not version.isdecimal():
        raise _foreign(path, "agent_adapter_meta")
    if int(version) != VERSION:
        raise ConfigError(
            f"{path}: the tables have schema version {version}, this release of agent-adapter knows {VERSION}; "
            "use the release that wrote the file, or a new path"
        )
    wanted = _columns()
    missing = [name for name in _ADDED if not found[name]]
    for name, columns in found.items():
        if columns != wanted[name] and name not in missing:
            raise _foreign(path, name)
    return missing


def _statements(tables: Collection[str]) -> list[str]:
    """What makes these tables and their indexes."""
    made = [f"CREATE TABLE {name} {_TABLES[name]}" for name in tables]
    return made + [
        f"CREATE INDEX {name} ON {where}"
        for name, where in _INDEXES.items()
        if where.split()[0] in tables
    ]


def _columns() -> dict[str, list[str]]:
    scratch = sqlite3.connect(":memory:")
    try:
        for statement in _statements(_TABLES):
            scratch.execute(statement)
        return {
            name: [column[1] for column in scratch.execute(f"PRAGMA table_info({name})")]
            for name in _TABLES
        }
    finally:
        scratch.close()


def _foreign(path: str, table: str) -> ConfigError:
    return ConfigError(
        f"{path}: table {table} is not one of agent-adapter's (other columns); use another database file"
    )
