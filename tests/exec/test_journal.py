"""Journal: what a visit that is entered again replays, and what it refuses (items 124 to 140)."""

import asyncio
import functools
import itertools
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from agent_adapter import (
    Executor,
    Registry,
    ToolCall,
    ToolError,
    ToolPolicy,
    ToolResult,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import register_control_flow
from agent_adapter.exec.integration import (
    Journal,
    JournalData,
    gather_unwrapped,
    make_answer,
    make_journal,
    visit_scope,
)


class Pause(Exception):
    pass


register_control_flow(Pause)


class Colour(Enum):
    RED = "red"


class Receipt(BaseModel):
    amount: Decimal
    at: datetime
    colour: Colour


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
        async def work(x: Any) -> Receipt | Pair | Any:
            self.ran.append(x)
            value = self.values.get(x, x)
            if isinstance(value, BaseException):
                raise value
            return value

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


VALUES = [
    Receipt(amount=Decimal("1.50"), at=datetime(2024, 5, 1, tzinfo=UTC), colour=Colour.RED),
    Pair((1, 2), {"a"}),
    {"plain": [1, 2.5, None, True, "ü"]},
    b"bytes",
    None,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_a_finished_call_is_replayed_with_an_equal_value_of_an_equal_type(bench, value):
    """Item 124."""
    bench.values = {1: value, 3: Pause()}
    with pytest.raises(Pause):
        await bench.visit(None, 1, 2, 3)
    bench.values[3] = "approved"
    results = await bench.visit(bench.data, 1, 2, 3)
    assert bench.ran == [1, 2, 3, 3]
    assert [r.value for r in results] == [value, 2, "approved"]
    assert type(results[0].value) is type(value)
    assert [(r.call_id, r.replayed, r.attempts) for r in results] == [
        ("c0", True, 0),
        ("c1", True, 0),
        ("c2", False, 1),
    ]


async def test_arguments_are_the_same_when_they_are_equal_after_validation():
    """Item 125."""
    ran = []

    @tool
    async def pay(amount: int, currency: str = "EUR") -> int:
        ran.append(amount)
        return amount

    executor = Executor(Registry([pay]))
    journal = make_journal()
    with visit_scope(None, journal):
        await executor.run("pay", {"amount": "1"})
    with visit_scope(None, make_journal(journal.data())):
        await executor.run("pay", {"amount": 1, "currency": "EUR"})
    assert ran == [1]


def test_another_tool_other_arguments_and_another_occurrence_have_another_key():
    """Item 125."""
    journal = make_journal()
    claims = [("a", {"x": 1}), ("b", {"x": 1}), ("a", {"x": 2}), ("a", {"x": "1"}), ("a", {"x": 1})]
    slots = [journal.claim(*claim) for claim in claims]
    assert len({slot.key for slot in slots}) == 5
    first, again = slots[0], slots[4]
    assert first.key == f"a:{first.digest}:0"
    assert again.key == f"a:{first.digest}:1"
    assert (first.arguments, first.occurrence, again.occurrence) == ({"x": 1}, 0, 1)


async def test_equal_calls_are_replayed_one_by_one_and_a_further_one_runs(bench):
    """Item 126."""
    answers = iter(["first", "second", "third"])

    @tool
    async def draw() -> str:
        return next(answers)

    executor = Executor(Registry([draw]))
    journal = make_journal()
    with visit_scope(None, journal):
        assert [await executor.run("draw") for _ in range(2)] == ["first", "second"]
    with visit_scope(None, make_journal(journal.data())):
        assert [await executor.run("draw") for _ in range(3)] == ["first", "second", "third"]


async def test_other_arguments_are_not_answered_from_the_record(bench):
    """Item 127."""
    await bench.visit(None, 1)
    results = await bench.visit(bench.data, 2)
    assert bench.ran == [1, 2]
    assert results[0].replayed is False


@pytest.mark.parametrize("concurrency", range(1, 9))
@pytest.mark.parametrize("way", ["run_many", "gather_unwrapped"])
async def test_occurrences_are_counted_in_input_order_whatever_the_latency(way, concurrency):
    """Item 128."""
    rng, finished = random.Random(concurrency), itertools.count()  # noqa: S311 - latencies

    @tool
    async def draw() -> int:
        for _ in range(rng.randrange(6)):
            await asyncio.sleep(0)
        return next(finished)

    executor = Executor(Registry([draw]))
    batch = [ToolCall(f"c{n}", "draw") for n in range(10)]
    journal = make_journal()
    with visit_scope(None, journal):
        if way == "run_many":
            results = await executor.run_many(batch, concurrency=concurrency)
        else:
            factories = [functools.partial(executor.run_call, call) for call in batch]
            results = await gather_unwrapped(factories, concurrency)
    by_occurrence = {
        int(k.rpartition(":")[2]): e["value"] for k, e in journal.data()["calls"].items()
    }
    assert by_occurrence == {n: r.value for n, r in enumerate(results)}
    assert sorted(by_occurrence.values()) == list(range(10))


class Log:
    """An observer that notes what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, Any]] = []

    async def started(self, slot):
        self.events.append(("started", slot.tool, slot.result and slot.result.value))

    async def settle(self, slot, result):
        self.events.append(("settle", slot.tool, slot.kept))


@pytest.mark.parametrize("status", ["pending", "cancelled"])
def test_what_has_not_finished_is_never_recorded(status):
    """Item 129."""
    journal = make_journal()
    slot = journal.claim("t", {})
    journal.record(slot, result(status=status, approval="r1"))
    assert (journal.data(), slot.kept) == ({}, None)


async def test_children_are_kept_apart_by_name_and_occurrence(bench):
    """Item 130: five items, the third pauses; only its unfinished calls run again."""

    async def items(journal: Journal) -> None:
        for item in range(5):
            with visit_scope(None, journal.child("item")):
                await bench.call("look up")
                await bench.call(f"send {item}")

    bench.values = {"send 2": Pause()}
    journal = make_journal()
    with pytest.raises(Pause):
        await items(journal)
    assert list(journal.data()["children"]) == ["item:0", "item:1", "item:2"]
    bench.values, bench.ran = {}, []
    again = make_journal(journal.data())
    await items(again)
    assert bench.ran == ["send 2", "look up", "send 3", "look up", "send 4"]
    slot = make_journal().child("item").child("a/b").claim("t", {})
    assert slot.key == f"item:0/a%2Fb:0/t:{slot.digest}:0"
    assert slot.path == "item:0/a%2Fb:0/"


def one_call(value: Any) -> JournalData:
    journal = make_journal()
    journal.record(journal.claim("t", {}), result(value))
    return journal.data()


def test_a_recorded_child_wins_over_its_seed():
    """Item 131."""
    journal = make_journal({"children": {"x:0": one_call("recorded")}})
    assert journal.child("x", one_call("seed")).claim("t", {}).result.value == "recorded"
    assert journal.child("x", one_call("seed")).claim("t", {}).result.value == "seed"
    assert journal.child("x").claim("t", {}).result is None


def test_with_calls_off_only_the_children_are_journaled():
    """Item 132."""
    journal = make_journal().child("x", calls=False)
    assert journal.claim("t", {}) is None
    assert journal.child("y").claim("t", {}) is not None


def test_a_closed_journal_claims_and_keeps_nothing_also_below():
    """Item 133."""
    data = {**one_call(1), "children": {"x:0": one_call(2)}}
    journal = make_journal(data)
    child = journal.child("x")
    late = journal.claim("late", {})
    journal.close()
    journal.record(late, result("late"))
    assert (journal.claim("t", {}), child.claim("t", {}), journal.child("x").claim("t", {})) == (
        None,
    ) * 3
    assert journal.data() == data
    assert late.kept == {"value": "late"}


def test_a_denied_call_whose_arguments_cannot_be_stored_did_not_run_and_leaves_no_marker():
    journal = make_journal()
    error = ToolError("denied", "Denied", "no")
    journal.record(journal.claim("t", {"x": open}), result(status="denied", error=error))
    assert journal.data() == {}


async def test_calls_of_a_closed_visit_run_and_are_not_recorded(bench):
    """Item 133."""
    journal = make_journal()
    journal.close()
    with visit_scope(None, journal):
        assert (await bench.call(1)).value == 1
    assert journal.data() == {}


@pytest.mark.parametrize("status", ["error", "denied"])
def test_a_failed_call_replays_as_the_same_failure(status):
    """Item 137."""
    error = ToolError("failed", "ConnectionError", "at 0x7f00dead, 12:00:01")
    journal = make_journal()
    journal.record(journal.claim("t", {}), result(status=status, error=error, attempts=1))
    data = json.loads(json.dumps(journal.data()))
    assert make_journal(data).claim("t", {}).result == ToolResult(
        call_id="", tool="t", status=status, error=error, replayed=True
    )


async def test_the_replayed_failure_of_a_tool_has_the_identical_text(bench):
    """Item 137, field report B71: an error text with an address."""
    bench.values = {1: ValueError(f"bad {object()!r}")}
    (first,) = await bench.visit(None, 1)
    bench.values = {1: ValueError("another text")}
    (second,) = await bench.visit(bench.data, 1)
    assert second.error == first.error
    assert bench.ran == [1]


async def test_an_observer_is_told_once_of_each_start_and_end_replays_included(bench):
    """Item 138."""
    observer = Log()
    journal = make_journal(observer=observer)
    with visit_scope(None, journal):
        await bench.call("a")
    assert observer.events == [("started", "work", None), ("settle", "work", {"value": "a"})]
    observer.events.clear()
    with visit_scope(None, make_journal(journal.data(), observer=observer)):
        await bench.call("a")
    assert observer.events == [("started", "work", "a"), ("settle", "work", {"value": "a"})]
    assert bench.ran == ["a"]


def test_a_journal_is_durable_exactly_with_an_observer():
    """Item 138."""
    assert make_journal().durable is False
    assert make_journal(observer=Log()).durable is True
    assert make_journal(observer=Log()).child("x", calls=False).durable is True


async def test_a_visit_is_seen_by_its_own_code_alone_and_restored_after_errors(bench):
    """Item 140."""
    outer, inner = make_journal(), make_journal()
    with visit_scope(None, outer):
        await bench.call(1)
        bench.values[2] = Pause()
        with pytest.raises(Pause), visit_scope(None, inner):
            await bench.call(2)
        await bench.call(3)
    await bench.call(4)
    assert sorted(entry["value"] for entry in outer.data()["calls"].values()) == [1, 3]
    assert inner.data() == {}
    assert bench.ran == [1, 2, 3, 4]

    journals = [make_journal(), make_journal()]

    async def visit(journal: Journal, x: int) -> None:
        with visit_scope(None, journal):
            await asyncio.sleep(0)
            await bench.call(x)

    await asyncio.gather(visit(journals[0], 10), visit(journals[1], 11))
    assert [list(j.data()["calls"].values()) for j in journals] == [
        [{"value": 10}],
        [{"value": 11}],
    ]


def test_a_key_of_the_caller_names_a_call_in_place_of_its_occurrence():
    journal = make_journal()
    slot = journal.claim("t", {"x": 1}, key="call/1")
    assert slot.key == f"t:{slot.digest}:@call%2F1"
    with pytest.raises(ToolUsageError, match="has not finished"):
        journal.claim("t", {"x": 1}, key="call/1")
    journal.record(slot, result("one"))
    assert journal.claim("t", {"x": 1}, key="call/1").result.value == "one"
    again = make_journal(journal.data())
    assert again.claim("t", {"x": 1}, key="call/2").result is None
    assert again.claim("t", {"x": 2}, key="call/1").result is None
    assert again.claim("t", {"x": 1}).result is None
    assert again.claim("t", {"x": 1}, key="call/1").result.value == "one"


def test_a_call_by_name_that_is_pending_may_be_claimed_again():
    journal = make_journal()
    journal.record(journal.claim("t", {}, key="a"), result(status="pending", approval="r"))
    assert journal.claim("t", {}, key="a").result is None


def test_a_call_that_is_entered_again_finds_what_its_body_finished_before():
    journal = make_journal()
    slot = journal.claim("outer", {}, key="a")
    first = journal.inside(slot)
    first.record(first.claim("t", {}), result("inner"))
    journal.record(slot, result(status="pending", approval="r"))
    again = journal.claim("outer", {}, key="a")
    second = journal.inside(again)
    assert second.claim("t", {}).result.value == "inner"
    journal.record(again, result("outer"))
    assert list(journal.data()) == ["calls"]
    journal.close()
    assert journal.inside(again).claim("t", {}) is None


def test_the_policy_of_a_claim_is_on_its_slot():
    policy = ToolPolicy(idempotent=True)
    assert make_journal().claim("t", {}, policy=policy).policy is policy
    assert make_journal().claim("t", {}).policy == ToolPolicy()
