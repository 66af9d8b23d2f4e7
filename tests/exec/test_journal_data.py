"""The journal's data: markers, codecs, what is refused, and to whom it belongs (items 134 to 136 and 139)."""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any

import pytest

from agent_adapter import (
    Executor,
    Registry,
    ToolCall,
    ToolResult,
    ToolUsageError,
    tool,
)
from agent_adapter.exec.integration import (
    RAN_UNKEYED,
    JournalData,
    NotSealable,
    check_plain,
    make_answer,
    make_journal,
    unsealable_calls,
    visit_scope,
)


@dataclass
class Pair:
    left: tuple[int, ...]
    right: set[str]


class Bench:
    """A tool that counts how often its body runs with which value."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.values: dict[Any, Any] = {}

        @tool
        async def work(x: Any) -> Any:
            self.ran.append(x)
            return self.values.get(x, x)

        self.executor = Executor(Registry([work]))

    async def visit(self, data: JournalData | None, *xs: Any) -> list[ToolResult]:
        """One visit that makes these calls after one another; its data is in `self.data`."""
        journal = make_journal(data)
        try:
            with visit_scope(make_answer(()), journal):
                return [await self.call(x, n) for n, x in enumerate(xs)]
        finally:
            journal.close()
            self.data = journal.data()

    async def call(self, x: Any, n: int = 0) -> ToolResult:
        return await self.executor.run_call(ToolCall(f"c{n}", "work", {"x": x}))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def result(value: Any = None, **fields: Any) -> ToolResult:
    return ToolResult(call_id="c", tool="t", value=value, **fields)


def one_call(value: Any) -> JournalData:
    journal = make_journal()
    journal.record(journal.claim("t", {}), result(value))
    return journal.data()


async def test_a_call_that_ran_and_could_not_be_recorded_is_neither_run_nor_replayed(bench):
    """Item 134, and what a pause looks at before it is stored."""
    bench.values = {1: {"deep": [object()]}}
    await bench.visit(None, 1)
    (key,) = bench.data["calls"]
    assert bench.data == {
        "calls": {key: {"unrecordable": {"path": "$.deep[0]", "type": "builtins.object"}}}
    }
    with pytest.raises(
        ToolUsageError, match=r"its result cannot be stored: builtins\.object at \$\.deep\[0\]"
    ):
        await bench.visit(bench.data, 1)
    assert bench.ran == [1]
    assert unsealable_calls(bench.data) == [
        f"{key}: its result cannot be stored: builtins.object at $.deep[0]"
    ]


async def test_a_call_whose_arguments_cannot_be_stored_runs_once(bench):
    """Item 135."""
    journal = make_journal()
    with visit_scope(None, journal.child("item")):
        assert (await bench.call(open)).value is open
    assert bench.ran == [open]
    data = journal.data()
    assert data == {"children": {"item:0": {"calls": {"work:unkeyed:0": RAN_UNKEYED}}}}
    assert unsealable_calls(data) == ["item:0/work:unkeyed:0: its arguments cannot be stored"]
    assert unsealable_calls(data, "run/") == [
        "run/item:0/work:unkeyed:0: its arguments cannot be stored"
    ]
    with (
        visit_scope(None, make_journal(data).child("item")),
        pytest.raises(ToolUsageError, match="already ran, and its arguments cannot be stored"),
    ):
        await bench.call(open)
    assert bench.ran == [open]


def test_a_result_of_a_class_that_the_return_type_does_not_name_is_a_marker():
    """Item 136."""
    journal = make_journal()
    journal.record(journal.claim("t", {}, dict), result(Pair((), set())))
    assert unsealable_calls(journal.data()) != []


def test_a_recorded_class_is_rebuilt_only_from_the_return_type_of_the_claim():
    """Item 136."""
    journal = make_journal()
    journal.record(journal.claim("t", {}, Pair), result(Pair((1,), set())))
    assert make_journal(journal.data()).claim("t", {}, Pair).result.value == Pair((1,), set())
    with pytest.raises(NotSealable, match="Pair"):
        make_journal(journal.data()).claim("t", {}, dict)


def test_an_encoder_and_a_decoder_store_what_has_no_form_of_its_own():
    codec = {
        "encoder": lambda value: value.hex() if isinstance(value, memoryview) else 1 / 0,
        "decoder": lambda name: (
            (lambda text: memoryview(bytes.fromhex(text))) if "memoryview" in name else None
        ),
    }
    journal = make_journal(**codec)
    journal.record(journal.claim("t", {}), result(memoryview(b"ab")))
    assert make_journal(journal.data(), **codec).claim("t", {}).result.value == memoryview(b"ab")
    assert unsealable_calls(journal.data()) == []


def test_chosen_children_are_left_out_of_the_data():
    """Item 139."""
    journal = make_journal(one_call(0))
    for name in ("x", "y", "x"):
        child = journal.child(name)
        child.record(child.claim("t", {}), result(1))
        below = child.child("x")
        below.record(below.claim("t", {}), result(2))
    data = journal.data(drop={"x"})
    assert list(data["children"]) == ["y:0"]
    assert list(data["children"]["y:0"]["children"]) == ["x:0"]
    assert list(journal.data()["children"]) == ["x:0", "x:1", "y:0"]


async def test_the_data_is_plain_deterministic_and_makes_an_equal_journal():
    """Item 139: whatever finishes first."""
    texts, rng = set(), random.Random(5)  # noqa: S311 - latencies

    @tool
    async def work(x: Any) -> Any:
        for _ in range(rng.randrange(9)):
            await asyncio.sleep(0)
        return x

    executor = Executor(Registry([work]))
    batch = [ToolCall(str(n), "work", {"x": x}) for n, x in enumerate([3, 1, "é", 2, 1])]
    for concurrency in (1, 2, 5, 5):
        journal = make_journal()
        with visit_scope(None, journal):
            await executor.run_many(batch, concurrency=concurrency)
            with visit_scope(None, journal.child("c")):
                await executor.run_many(batch, concurrency=concurrency)
        data = journal.data()
        check_plain(data)
        assert make_journal(data).data() == data
        texts.add(json.dumps(data))
    assert len(texts) == 1


def test_the_data_belongs_to_the_caller():
    journal = make_journal()
    value = {"list": [1]}
    journal.record(journal.claim("t", {}), result(value))
    value["list"].append(2)
    (entry,) = journal.data()["calls"].values()
    entry["value"]["list"].append(3)
    again = make_journal(journal.data())
    replayed = again.claim("t", {}).result.value
    replayed["list"].append(4)
    assert list(again.data()["calls"].values()) == [{"value": {"list": [1]}}]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"call": {}},
        {"calls": []},
        {"calls": {"k": 5}},
        {"calls": {"k": {"value": 1, "more": 2}}},
        {"calls": {"k": {"status": "ok", "error": {"kind": "failed", "type": "T", "message": ""}}}},
        {"calls": {"k": {"status": "error", "error": {"kind": "odd", "type": "T", "message": ""}}}},
        {"calls": {"k": {"status": "error", "error": {"kind": "failed", "type": "T"}}}},
        {"children": {"x:0": {"calls": {"k": None}}}},
        {"calls": {"k": {"value": (1,)}}},
    ],
    ids=json.dumps,
)
def test_what_no_journal_wrote_is_refused_before_anything_is_used(data):
    for reader in (make_journal, unsealable_calls, lambda data: make_journal().child("x", data)):
        with pytest.raises(ToolUsageError):
            reader(data)
