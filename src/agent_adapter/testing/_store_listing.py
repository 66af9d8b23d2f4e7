"""The store contract: listing runs and clearing away ended ones."""

from typing import Any

from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import RunInfo, StoredCheckpoint
from agent_adapter.testing._store_values import checkpoint, record, refused


async def every_run_is_listed_by_id(store: Any) -> None:
    """Runs come ordered by id, with what their last save said."""
    await store.save("b", 0, checkpoint(segment=4))
    await store.save("a", 0, checkpoint(kind="flow", name="visit"))
    await store.save("b", 1, checkpoint(segment=5, status="paused"))
    listed = await store.list_runs()
    assert [info.saved_at > 0 for info in listed] == [True, True]
    assert [info.model_copy(update={"saved_at": 0.0}) for info in listed] == [
        RunInfo(
            run_id="a", name="visit", kind="flow", status="running", step=0, segment=0, saved_at=0.0
        ),
        RunInfo(
            run_id="b", name="loop", kind="loop", status="paused", step=1, segment=5, saved_at=0.0
        ),
    ]


async def runs_are_listed_in_pages(store: Any) -> None:
    """Each page starts after the last id of the one before; together they are every run once."""
    names = [f"run-{n}" for n in range(7)]
    for name in reversed(names):
        await store.save(name, 0, checkpoint())
    pages: list[list[str]] = []
    after = None
    while page := await store.list_runs(after=after, limit=3):
        pages.append([info.run_id for info in page])
        after = page[-1].run_id
    assert pages == [names[:3], names[3:6], names[6:]]
    assert await store.list_runs(limit=0) == []


async def runs_are_listed_by_filter(store: Any) -> None:
    """Every filter that is given must fit."""
    await store.save("1", 0, checkpoint(kind="flow", name="a", status="done"))
    await store.save("2", 0, checkpoint(kind="flow", name="a"))
    await store.save("3", 0, checkpoint(name="a"))
    await store.save("4", 0, checkpoint(name="b", status="failed"))
    last = max(info.saved_at for info in await store.list_runs())
    for filters, wanted in (
        ({"name": "a"}, ["1", "2", "3"]),
        ({"kind": "flow"}, ["1", "2"]),
        ({"status": "failed"}, ["4"]),
        ({"name": "a", "kind": "flow", "status": "running"}, ["2"]),
        ({"saved_before": 0.0}, []),
        ({"saved_before": last + 1, "after": "2"}, ["3", "4"]),
    ):
        assert [info.run_id for info in await store.list_runs(**filters)] == wanted, filters
    for wrong in (
        {"limit": -1},
        {"status": "gone"},
        {"kind": 1},
        {"name": 1},
        {"after": 1},
        {"saved_before": "x"},
    ):
        await refused(ConfigError, store.list_runs(**wrong))


async def only_ended_runs_are_pruned(store: Any) -> None:
    """Running and paused runs stay, however old; an ended one goes with its history and its log."""
    for status in ("running", "paused", "done", "denied", "failed"):
        await store.save(status, 0, checkpoint(status=status, history=("chunk",)))
        await store.record_call(status, 0, record())
    assert await store.prune(3600) == 0
    assert await store.prune(0, name="another") == 0
    assert await store.prune(0) == 3  # noqa: PLR2004
    assert [info.run_id for info in await store.list_runs()] == ["paused", "running"]
    await store.save("done", 0, checkpoint())
    assert await store.latest("done") == StoredCheckpoint(step=0, checkpoint=checkpoint())
    assert (await store.calls("done", 0), await store.calls("paused", 0)) == ([], [record()])


async def pruning_stops_at_its_limit(store: Any) -> None:
    """The runs that ended longest ago go first, and no more than `limit`."""
    for n in range(50):
        await store.save(f"run-{n:02}", 0, checkpoint(status="done"))
    assert await store.prune(0, limit=0) == 0
    assert await store.prune(0, limit=45) == 45  # noqa: PLR2004
    assert [info.run_id for info in await store.list_runs()] == [f"run-{n}" for n in range(45, 50)]
    for wrong in (
        {"older_than_s": -1},
        {"older_than_s": float("nan")},
        {"older_than_s": True},
        {"older_than_s": "1"},
    ):
        await refused(ConfigError, store.prune(**wrong))
    await refused(ConfigError, store.prune(0, limit=-1))
