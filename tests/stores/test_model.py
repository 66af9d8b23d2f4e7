"""Any sequence of operations leaves a store as it leaves a plain dict."""

import asyncio
import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_adapter.errors import AgentAdapterError, CheckpointConflict, ToolUsageError
from agent_adapter.exec.checkpoints import (
    CallRecord,
    DurableStore,
    MemoryCheckpointStore,
    SQLiteCheckpointStore,
    StoredCheckpoint,
)
from agent_adapter.testing.stores import checkpoint, record

RUNS = st.sampled_from(["r", "s"])
SMALL = st.integers(0, 3)
TEXTS = st.sampled_from(["", "a", "é🚀", "x" * 600, "\x00" * 700])
RECORDS = st.builds(
    record, st.sampled_from("kl"), st.sampled_from(["started", "done"]), st.none() | TEXTS
)
SAVES = st.tuples(
    st.just("save"),
    RUNS,
    SMALL,
    st.builds(
        checkpoint,
        TEXTS,
        segment=SMALL,
        history=st.lists(TEXTS, max_size=2).map(tuple),
        kept=SMALL,
        lineage=st.sampled_from(["life", "life", "life", "death"]),
        status=st.sampled_from(["running", "running", "paused", "done"]),
    ),
)
OPERATIONS = st.lists(
    st.one_of(
        SAVES,
        SAVES,
        st.tuples(st.just("record_call"), RUNS, SMALL, RECORDS),
        st.tuples(
            st.just("claim_call"), RUNS, SMALL, RECORDS, st.none() | RECORDS, st.none() | SMALL
        ),
        st.tuples(st.just("delete"), RUNS),
    ),
    max_size=25,
)


class Model:
    """What a store is to do, on a dict of [step, checkpoint, chunks, calls], in the order of the last save."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Any]] = {}

    def save(self, run_id: str, step: int, new: Any) -> None:
        if step == 0 and new.kept:
            raise ToolUsageError
        run = self.runs.get(run_id)
        if run is None:
            if step:
                raise CheckpointConflict(run_id, "")
            run = [0, new, [], {}]
        elif step != run[0] + 1 or new.lineage != run[1].lineage or new.segment < run[1].segment:
            raise CheckpointConflict(run_id, "")
        if new.kept > len(run[2]):
            raise ToolUsageError
        calls = run[3] if new.segment == run[1].segment else {}
        self.runs.pop(run_id, None)
        self.runs[run_id] = [step, new, [*run[2][: new.kept], *new.history], calls]

    def _calls(self, run_id: str, segment: int, step: int | None) -> dict[str, CallRecord]:
        run = self.runs.get(run_id)
        if run is None or segment != run[1].segment or step not in (None, run[0]):
            raise CheckpointConflict(run_id, "")
        calls: dict[str, CallRecord] = run[3]
        return calls

    def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        self._calls(run_id, segment, None)[call.key] = call

    def claim_call(
        self, run_id: str, segment: int, call: CallRecord, seen: CallRecord | None, step: int | None
    ) -> CallRecord:
        if seen is not None and seen.key != call.key:
            raise ToolUsageError
        calls = self._calls(run_id, segment, step)
        if seen is not None and call.key not in calls:
            raise CheckpointConflict(run_id, "")
        if calls.get(call.key) == seen:
            calls[call.key] = call
        return calls[call.key]

    def delete(self, run_id: str) -> bool:
        return self.runs.pop(run_id, None) is not None

    def state(self) -> list[Any]:
        return [
            [self._run(run_id) for run_id in "rs"],
            [key for key, run in self.runs.items() if _runs(run)],
        ]

    def _run(self, run_id: str) -> Any:
        if run_id not in self.runs:
            return None, None, []
        step, head, chunks, calls = self.runs[run_id]
        whole = head.model_copy(update={"history": tuple(chunks), "kept": 0})
        return (
            (step, head.segment),
            StoredCheckpoint(step=step, checkpoint=whole),
            list(calls.values()),
        )


def _runs(run: list[Any]) -> bool:
    return bool(run[1].status == "running")


async def state(store: DurableStore) -> list[Any]:
    runs = []
    for run_id in "rs":
        position = await store.position(run_id)
        calls = await store.calls(run_id, position[1]) if position else []
        runs.append((position, await store.latest(run_id), calls))
    return [runs, await store.list_unfinished()]


async def apply(target: Any, operation: tuple[Any, ...]) -> Any:
    name, *arguments = operation
    method = getattr(target, name)
    if name == "claim_call" and not isinstance(target, Model):
        *arguments, step = arguments
        return await method(*arguments, step=step)
    outcome = method(*arguments)
    return await outcome if asyncio.iscoroutine(outcome) else outcome


async def outcome_of(target: Any, operation: tuple[Any, ...]) -> Any:
    try:
        return await apply(target, operation)
    except AgentAdapterError as exc:
        return type(exc)


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
@settings(max_examples=60, deadline=None)
@given(operations=OPERATIONS)
def test_a_store_does_what_a_dict_does(backend: str, operations: list[tuple[Any, ...]]) -> None:
    async def check(store: DurableStore) -> None:
        model = Model()
        for operation in operations:
            assert await outcome_of(store, operation) == await outcome_of(model, operation)
        assert await state(store) == model.state()

    clock = itertools.count().__next__
    if backend == "memory":
        asyncio.run(check(MemoryCheckpointStore(clock=clock)))
        return
    with tempfile.TemporaryDirectory() as directory:
        store = SQLiteCheckpointStore(Path(directory) / "runs.db", clock=clock)
        asyncio.run(check(store))
        store._database.writer.close()
