"""The file of approvals: its tables, its mode, its key, and runs that live in the same file."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.approvals import ApprovalDecision, SQLiteApprovalStore, StoredApproval
from agent_adapter.errors import CheckpointStoreCorrupt, ConfigError, ToolUsageError
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore, StoredCheckpoint
from agent_adapter.testing.approvals import approval_request
from agent_adapter.testing.stores import checkpoint

Execute = Callable[..., list[Any]]

YES = ApprovalDecision(approved=True)


async def test_nothing_is_made_before_the_first_use(file: Path) -> None:
    store = SQLiteApprovalStore(file)
    assert not (file.parent / "runs.db").exists()
    assert await store.get("r1") is None
    assert stat.S_IMODE((file.parent / "runs.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(file.with_name("runs.db.key").stat().st_mode) == 0o600


async def test_the_file_is_written_ahead_and_synced(
    sqlite_approvals: SQLiteApprovalStore, execute: Execute
) -> None:
    """A decision that was answered survives a power cut."""
    await sqlite_approvals.park(approval_request())
    connection = sqlite_approvals._database.writer._connection
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert execute("PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("first", ["runs", "approvals"])
async def test_runs_and_approvals_share_a_file_and_its_key(file: Path, first: str) -> None:
    """Whichever comes first makes the file; both keep what they hold, under one embedded key."""
    approvals, runs = SQLiteApprovalStore(file), SQLiteCheckpointStore(file)

    async def save() -> None:
        await runs.save("run", 0, checkpoint())

    async def park() -> None:
        await approvals.park(approval_request())

    for use in (save, park) if first == "runs" else (park, save):
        await use()
    key = runs.embedded_key()
    assert await runs.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint())
    assert await SQLiteApprovalStore(file).get("r1") == StoredApproval(approval_request())
    assert await SQLiteApprovalStore(file, key=key).get("r1") == StoredApproval(approval_request())
    assert [found.name for found in file.parent.glob("*.key*")] == ["runs.db.key"]


async def test_deleting_a_run_leaves_its_approvals(file: Path) -> None:
    """What a person decided is not lost with the run."""
    approvals, runs = SQLiteApprovalStore(file), SQLiteCheckpointStore(file)
    await runs.save("run", 0, checkpoint())
    await approvals.park(approval_request(run_id="run"))
    await runs.delete("run")
    assert await approvals.get("r1") == StoredApproval(approval_request(run_id="run"))


async def test_a_file_without_the_table_gets_it(file: Path, execute: Execute) -> None:
    """A file that was made before there were approvals in it keeps its runs."""
    runs = SQLiteCheckpointStore(file)
    await runs.save("run", 0, checkpoint())
    runs._database.writer.close()
    execute("DROP TABLE agent_adapter_approvals")
    store = SQLiteApprovalStore(file)
    await store.park(approval_request())
    assert await store.list_pending() == [approval_request()]
    assert await runs.latest("run") == StoredCheckpoint(step=0, checkpoint=checkpoint())


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (
            ["ALTER TABLE agent_adapter_approvals RENAME COLUMN state TO status"],
            "table agent_adapter_approvals is not one of agent-adapter's",
        ),
        (
            ["UPDATE agent_adapter_meta SET value = '2' WHERE key = 'schema'"],
            "schema version 2, this release of agent-adapter knows 1",
        ),
        (
            [
                "UPDATE agent_adapter_meta SET value = '2' WHERE key = 'schema'",
                "DROP TABLE agent_adapter_approvals",
            ],
            "schema version 2",
        ),
    ],
    ids=["a foreign table", "a newer schema", "a newer schema without the table"],
)
async def test_what_this_release_does_not_know_is_refused_unchanged(
    file: Path, execute: Execute, edits: list[str], says: str
) -> None:
    made = SQLiteApprovalStore(file)
    await made.park(approval_request())
    made._database.writer.close()
    for edit in edits:
        execute(edit)
    before = (file.parent / "runs.db").read_bytes()
    store = SQLiteApprovalStore(file)
    for doing in (store.get("r1"), store.park(approval_request()), store.decide("r1", YES)):
        with pytest.raises(ConfigError, match=says):
            await doing
    assert (file.parent / "runs.db").read_bytes() == before


async def test_a_foreign_table_of_our_name_alone_is_refused(file: Path, execute: Execute) -> None:
    execute("CREATE TABLE agent_adapter_approvals (id)")
    with pytest.raises(ConfigError, match="agent_adapter_approvals"):
        await SQLiteApprovalStore(file).get("r1")
    assert not file.with_name("runs.db.key").exists()


async def test_the_given_key_comes_before_the_environments(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`key`, else the environment's, else the file's; no key file is made where it is not needed."""
    monkeypatch.setenv("AGENT_ADAPTER_CHECKPOINT_KEY", "of the environment")
    given, surroundings = SQLiteApprovalStore(file, key="given " * 4), SQLiteApprovalStore(file)
    await given.park(approval_request("given"))
    await surroundings.park(approval_request("environment"))
    monkeypatch.delenv("AGENT_ADAPTER_CHECKPOINT_KEY")
    both = SQLiteApprovalStore(file, key=["of the environment", "given " * 4])
    assert [request.id for request in await both.list_pending()] == ["given", "environment"]
    assert not file.with_name("runs.db.key").exists()
    for store, other in ((given, "environment"), (surroundings, "given")):
        with pytest.raises(CheckpointStoreCorrupt, match="sealed under the key"):
            await store.get(other)


async def test_a_rotated_key_signs_what_is_written_from_then_on(file: Path) -> None:
    old, new = "old key " * 4, "new key " * 4
    await SQLiteApprovalStore(file, key=old).park(approval_request())
    await SQLiteApprovalStore(file, key=[new, old]).decide("r1", YES)
    assert await SQLiteApprovalStore(file, key=new).consume("r1", "call a") == YES


async def test_a_lost_key_file_is_refused_and_not_made_anew(file: Path) -> None:
    await SQLiteApprovalStore(file).park(approval_request())
    file.with_name("runs.db.key").unlink()
    with pytest.raises(ConfigError, match=r"runs\.db\.key is missing"):
        await SQLiteApprovalStore(file).get("r1")
    assert not file.with_name("runs.db.key").exists()


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        (":memory:", {}),
        ("", {}),
        ("file:runs.db", {}),
        (7, {}),
        ("runs.db", {"timeout": -1}),
        ("runs.db", {"timeout": float("nan")}),
        ("runs.db", {"timeout": True}),
        ("runs.db", {"timeout": None}),
        ("runs.db", {"key": "short"}),
        ("runs.db", {"key": []}),
        ("runs.db", {"key": ""}),
    ],
)
def test_wrong_settings_are_refused_at_construction(path: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        SQLiteApprovalStore(path, **settings)


async def test_a_request_that_is_too_large_to_be_read_back_is_refused(
    sqlite_approvals: SQLiteApprovalStore,
) -> None:
    with pytest.raises(ToolUsageError, match="more than 67108864"):
        await sqlite_approvals.park(approval_request(arguments={"x": "a" * 64 * 2**20}))
    assert await sqlite_approvals.list_pending() == []
