"""The settings that every store on a SQLite file takes: its path and how long it waits for a lock."""

import os

from agent_adapter._seconds import is_seconds
from agent_adapter.errors import ConfigError


def checked_path(path: object, *, in_memory: str) -> str:
    """The absolute path of the file.

    Args:
        path: what the user gave.
        in_memory: the class that keeps the same in memory, for the error.

    Raises:
        ConfigError: it is not the path of a file.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"path must be a str or a PathLike, not {type(path).__name__}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise ConfigError(f"path must name a file with a str, not {type(text).__name__}")
    if not text or text == ":memory:" or text.startswith("file:") or "\0" in text:
        raise ConfigError(f"path {text!r} is not the path of a file; {in_memory}")
    return os.path.realpath(text)


def checked_timeout(timeout: object) -> float:
    """The seconds that a write waits for another process's lock.

    Raises:
        ConfigError: it is not a finite number from 0 on.
    """
    at_once = type(timeout) in (int, float) and timeout == 0
    if timeout is None or not (at_once or is_seconds(timeout)):
        raise ConfigError(f"timeout must be a finite number of 0 or more, not {timeout!r}")
    return float(timeout)  # type: ignore[arg-type]
