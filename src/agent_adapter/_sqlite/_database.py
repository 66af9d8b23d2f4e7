"""What the stores of one process share of one SQLite file: its writer, its readers, and how it is opened."""

import atexit
import contextlib
import os
import sqlite3
import threading
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from agent_adapter._sqlite import _schema as schema
from agent_adapter._sqlite._readers import Readers
from agent_adapter._sqlite._writer import Writer
from agent_adapter.errors import ConfigError


class Database:
    """The file at `path`, which is created on first use and from then on must stay the same file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.readers = Readers(self._open_for_reading, self._check)
        self.writer = Writer(self._open_for_writing, self._check)
        self._file: tuple[int, int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether this process has found or made the tables, so that a reader may look."""
        return self._file is not None

    @property
    def is_lost(self) -> bool:
        """Whether the file that was opened is no longer the one at its path."""
        return self._file is not None and self._file != self._found()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)  # noqa: PTH116 - asked on every commit
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _check(self) -> None:
        if self.is_lost:
            raise sqlite3.OperationalError(
                f"{self.path} was deleted or replaced while it was open; what it held is not there any more. "
                "Restore it and restart the process, or make a new store object to begin with what is there now"
            )

    def _open_for_writing(self) -> sqlite3.Connection:
        self._check()
        if self._file is None:
            # SQLite would create it readable for all. Never open and close an existing one: that drops the locks of
            # every connection that this process has on it.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        before = self._found()
        connection = self._connect()
        try:
            schema.prepare(connection, self.path)
            self._file = self._file or before
            self._check()
        except sqlite3.DatabaseError as error:
            connection.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            raise ConfigError(f"{self.path} is not a SQLite database: give another path") from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_for_reading(self) -> sqlite3.Connection:
        self._check()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _connect(self) -> sqlite3.Connection:
        # mode=rw, so that a file that was deleted is missed and not made anew.
        connection = sqlite3.connect(
            f"{Path(self.path).as_uri()}?mode=rw",
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        # A text that is not Unicode then fails as a corrupt row where it is read, not in the driver.
        connection.text_factory = _decode
        return connection


def database_for(path: str) -> Database:
    """The database at the absolute `path`, the same object for every store of this process."""
    with _lock:
        database = _databases.get(path)
        if database is None or database.is_lost:
            database = _databases[path] = Database(path)
            _all.add(database)
        return database


def _decode(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def _before_fork() -> None:
    _lock.acquire()
    _forking.extend(_all)
    for database in _forking:
        database.writer.before_fork()
        database.readers.before_fork()


def _after_fork_in_parent() -> None:
    for database in _forking:
        database.readers.after_fork_in_parent()
        database.writer.after_fork_in_parent()
    _forking.clear()
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock  # noqa: PLW0603 - a lock that was held at the fork is not released in the child
    for database in _forking:
        database.readers.after_fork_in_child()
        database.writer.after_fork_in_child()
    _forking.clear()
    _lock = threading.Lock()


def _close_all() -> None:
    for database in list(_all):
        database.writer.close()
        database.readers.close()


_lock = threading.Lock()
_databases: WeakValueDictionary[str, Database] = WeakValueDictionary()
# Also those whose file was replaced: their connections must not cross a fork either.
_all: WeakSet[Database] = WeakSet()
_forking: list[Database] = []

atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
