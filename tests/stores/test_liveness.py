"""Owner tokens: only the end of a process on this host makes it known dead."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.exec.checkpoints import MemoryCheckpointStore, SQLiteCheckpointStore
from agent_adapter.exec.checkpoints import _byte_locks as byte_locks

Start = Callable[..., Any]


def test_a_killed_owner_is_dead_at_once(
    start_worker: Start, sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    worker = start_worker("owner", tmp_path / "runs.db")
    token = worker.hear()
    assert sqlite_store.liveness(token) == "alive"
    worker.kill()
    assert sqlite_store.liveness(token) == "dead"


def test_a_stopped_owner_is_alive(
    start_worker: Start, sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    worker = start_worker("owner", tmp_path / "runs.db")
    token = worker.hear()
    worker.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, worker.process.pid, os.WSTOPPED)
    assert sqlite_store.liveness(token) == "alive"


def test_this_process_is_alive_and_names_itself_once(sqlite_store: SQLiteCheckpointStore) -> None:
    token = sqlite_store.owner()
    assert (sqlite_store.owner(), sqlite_store.liveness(token)) == (token, "alive")


def test_a_forked_child_is_another_owner_and_does_not_keep_its_parent_alive(
    start_worker: Start, sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    worker = start_worker("fork_owner", tmp_path / "runs.db")
    parent = worker.hear()
    child, parent_seen_by_child = worker.hear()
    assert (child != parent, parent_seen_by_child) == (True, "alive")
    assert [sqlite_store.liveness(token) for token in (parent, child)] == ["alive", "alive"]
    worker.kill()
    assert [sqlite_store.liveness(token) for token in (parent, child)] == ["dead", "alive"]
    worker.go()


def test_opening_and_closing_the_live_file_does_not_free_the_byte(
    sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    token = sqlite_store.owner()
    (tmp_path / "runs.db.live").read_bytes()
    # Asked through this process's own handle it would be answered from the token alone.
    descriptor = os.open(tmp_path / "runs.db.live", os.O_RDWR)
    try:
        assert byte_locks.is_held(descriptor, int(token.rpartition(":")[2], 16))
    finally:
        os.close(descriptor)


def test_a_replaced_live_file_proves_nothing(
    start_worker: Start, sqlite_store: SQLiteCheckpointStore, tmp_path: Path
) -> None:
    worker = start_worker("owner", tmp_path / "runs.db")
    token = worker.hear()
    (tmp_path / "runs.db.live").unlink()
    assert sqlite_store.liveness(token) == "unknown"
    worker.kill()
    assert sqlite_store.liveness(token) == "unknown"


@pytest.mark.parametrize("field", [0, 4, 5])
def test_an_owner_of_another_boot_or_file_is_unknown(
    sqlite_store: SQLiteCheckpointStore, field: int
) -> None:
    parts = sqlite_store.owner().split(":")
    parts[field], parts[-1] = "1234", "77"
    assert sqlite_store.liveness(":".join(parts)) == "unknown"


@pytest.mark.parametrize(
    "token", ["", ":", "a:b:c:d:e:f:g", "::::::", "x" * 10_000, None, 5, "\ud800", "1:2:3:4:5:6:-1"]
)
def test_a_malformed_token_is_unknown(
    sqlite_store: SQLiteCheckpointStore, memory_store: MemoryCheckpointStore, token: Any
) -> None:
    assert (sqlite_store.liveness(token), memory_store.liveness(token)) == ("unknown", "unknown")


def test_a_free_byte_with_a_broken_number_is_unknown(sqlite_store: SQLiteCheckpointStore) -> None:
    head = sqlite_store.owner().rpartition(":")[0]
    assert [sqlite_store.liveness(f"{head}:{byte}") for byte in ("", "-1", "zz", "f" * 40)] == [
        "unknown"
    ] * 4


def test_without_byte_locks_nothing_is_known(
    sqlite_store: SQLiteCheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(descriptor: int, byte: int) -> None:
        raise ImportError("fcntl")

    monkeypatch.setattr(byte_locks, "hold", missing)
    token = sqlite_store.owner()
    assert sqlite_store.liveness(token) == "alive"
    assert sqlite_store.liveness(token.replace(f":{os.getpid()}:", ":1:")) == "unknown"


def test_a_store_that_cannot_be_locked_still_names_its_process(tmp_path: Path) -> None:
    store = SQLiteCheckpointStore(tmp_path / "missing" / "runs.db")
    assert store.owner() == store.owner()
    assert store.liveness(store.owner()) == "unknown"


def test_memory_knows_only_its_own_process(memory_store: MemoryCheckpointStore) -> None:
    assert memory_store.liveness(memory_store.owner()) == "alive"
    assert memory_store.liveness(memory_store.owner() + "1") == "unknown"


def test_posix_locks_answer_the_same(
    start_worker: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no locks per open file."""
    monkeypatch.setattr(byte_locks, "_PER_OPEN_FILE", False)
    store = SQLiteCheckpointStore(tmp_path / "runs.db")
    worker = start_worker("owner", tmp_path / "runs.db")
    token = worker.hear()
    assert [store.liveness(store.owner()), store.liveness(token)] == ["alive", "alive"]
    worker.kill()
    assert [store.liveness(store.owner()), store.liveness(token)] == ["alive", "dead"]
