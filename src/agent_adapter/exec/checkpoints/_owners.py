"""Names the running process, and tells through a byte that each process locks whether another one still lives."""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_adapter.exec.checkpoints import _byte_locks as byte_locks
from agent_adapter.exec.checkpoints._port import OwnerState

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROCESS_STAT = Path("/proc/self/stat")
_PID_NAMESPACE = Path("/proc/self/ns/pid")
# Far apart enough that a byte that was freed is never taken by another process.
_BYTES = 2**62

FileId = tuple[int, int]


def process_token() -> str:
    """This process's name on this host: boot, pid namespace, pid and start time; without /proc less of it."""
    return f"{_boot()}:{_pid_namespace()}:{os.getpid()}:{_started()}"


@dataclass(frozen=True)
class _Held:
    """The open file whose byte this process holds; `byte` is None where there are no locks."""

    pid: int
    descriptor: int
    file: FileId
    byte: int | None
    token: str


class LiveFile:
    """The file `path` in which every process of a store locks a byte of its own while it lives."""

    def __init__(self, path: str) -> None:
        self._path = path

    def owner(self) -> str:
        """This process's token; the byte in it stays locked until the process ends."""
        try:
            return self._held().token
        except OSError:
            return f"{process_token()}:::"

    def liveness(self, owner: str) -> OwnerState:
        """Whether the owner lives: "dead" when its byte is free on this host, in this boot, in this very file."""
        try:
            held = self._held()
            if owner == held.token:
                return "alive"
            boot, _, _, _, device, inode, byte = owner.split(":")
            if not boot or boot != _boot() or held.byte is None:
                return "unknown"
            if (int(device, 16), int(inode, 16)) != held.file:
                return "unknown"
            return "alive" if byte_locks.is_held(held.descriptor, _checked(byte)) else "dead"
        except (AttributeError, ImportError, OSError, ValueError, OverflowError):
            return "unknown"

    def _held(self) -> _Held:
        with _lock:
            _drop_inherited()
            with contextlib.suppress(FileNotFoundError):
                known = _files.get(_identity(os.stat(self._path)))  # noqa: PTH116 - asked for every call
                if known is not None:
                    return known
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(self._path, flags, 0o600)
            file = _identity(os.fstat(descriptor))
            # A file that was moved here meanwhile is known already: its second descriptor stays open, since closing
            # it would free the POSIX locks of the first.
            if file not in _files:
                _files[file] = _hold(descriptor, file)
            return _files[file]


def _drop_inherited() -> None:
    """Nothing, once the files that a parent process opened are closed; to keep them would keep their bytes."""
    for file, held in list(_files.items()):
        if held.pid != os.getpid():
            _facts.clear()
            del _files[file]
            os.close(held.descriptor)


def _hold(descriptor: int, file: FileId) -> _Held:
    byte: int | None = secrets.randbelow(_BYTES)
    try:
        byte_locks.hold(descriptor, byte or 0)
    except (OSError, ImportError):
        byte = None
    where = ":" if byte is None else f"{file[0]:x}:{file[1]:x}"
    token = f"{process_token()}:{where}:{'' if byte is None else format(byte, 'x')}"
    return _Held(os.getpid(), descriptor, file, byte, token)


def _identity(found: os.stat_result) -> FileId:
    return found.st_dev, found.st_ino


def _checked(byte: str) -> int:
    number = int(byte, 16)
    if not 0 <= number < _BYTES:
        raise ValueError(byte)
    return number


def _boot() -> str:
    return _fact("boot", lambda: _BOOT_ID.read_text().strip().replace("-", "")[:16])


def _pid_namespace() -> str:
    return _fact("namespace", lambda: str(_PID_NAMESPACE.stat().st_ino))


def _started() -> str:
    # Field 22; the name in field 2 may hold spaces and parentheses, so count from its end.
    return _fact("started", lambda: _PROCESS_STAT.read_text().rpartition(")")[2].split()[19])


def _fact(name: str, read: Callable[[], str]) -> str:
    if name not in _facts:
        try:
            _facts[name] = read()
        except (OSError, IndexError):
            _facts[name] = ""
    return _facts[name]


_lock = threading.Lock()
_files: dict[FileId, _Held] = {}
_facts: dict[str, str] = {}


def _before_fork() -> None:
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    global _lock  # noqa: PLW0603 - the parent's lock is held by the thread that forked
    _lock = threading.Lock()
    _facts.clear()
    _drop_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
