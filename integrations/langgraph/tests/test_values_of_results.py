"""A replayed result is the same value of the same type, or the call is a question: never a changed value, never a repeat."""

import collections
import datetime as dt
import decimal
import enum
import ipaddress
import math
import pathlib
import uuid
import zoneinfo
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import THREAD, causes
from pydantic import BaseModel

from agent_adapter_langgraph import DurableTools


class Color(enum.Enum):
    RED = "r"


class Level(enum.IntEnum):
    LOW = 1


class Price(BaseModel):
    amount: decimal.Decimal
    when: dt.datetime
    color: Color
    more: Any = None


@dataclass(frozen=True)
class Line:
    sku: str
    tags: frozenset[str] = frozenset()


class Plain:
    pass


NOW = dt.datetime(2024, 3, 10, 2, 30, 0, 123456)  # noqa: DTZ001 - a naive one on purpose
PRICE = Price(amount=decimal.Decimal("1.0"), when=NOW, color=Color.RED)
KEPT = {
    "wide ints": [2**63, 2**64, -(2**63) - 1, 2**200],
    "floats": [math.inf, -math.inf, -0.0, 1.5, 5e-324],
    "decimals": [decimal.Decimal("1.10"), decimal.Decimal("-0"), decimal.Decimal("1E+3")],
    "bytes": b"\x00\xff",
    "texts": ["a\ud800b", "a\x00b", "e\u0301", "\u00e9", ""],
    "tuples": ((1, (2, 3)), {"k": [(1, 2)]}),
    "sets": ({1, 2}, frozenset({1}), {(1, 2)}, {frozenset({1})}),
    "keys": [
        {1: "a", "1": "b"},
        {None: 1},
        {True: 1},
        {(1, 2): 3},
        {1.5: 1},
        {b"k": 1},
        {"$tuple": [1]},
    ],
    "typed keys": [
        {Color.RED: 1},
        {dt.date(2024, 1, 1): 1},
        {uuid.UUID(int=5): 1},
        {decimal.Decimal(1): 1},
    ],
    "times": [
        NOW,
        NOW.replace(tzinfo=dt.UTC),
        NOW.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Paris"), fold=1),
        NOW.date(),
        NOW.time(),
        dt.timedelta(days=-1, microseconds=1),
    ],
    "ids and enums": [uuid.UUID(int=5), Color.RED, Level.LOW],
    "models": [
        PRICE,
        Price.model_construct(amount="bad", when=None, color=1),
        Line("a", frozenset({"x"})),
    ],
    "a model in a model": PRICE.model_copy(update={"more": PRICE}),
    "documents": [Document("text", metadata={"page": 1})],
    "large": "x" * 10**6,
}
REFUSED = {
    "fraction-like object": Plain(),
    "function": len,
    "module": math,
    "counter": collections.Counter("aab"),
    "deque": collections.deque([1], maxlen=2),
    "memory": memoryview(b"xy"),
    "complex": 1 + 2j,
    "path": pathlib.PurePosixPath("/x"),
    "address": ipaddress.ip_address("::1"),
    "error": ValueError("x", 1),
    "ellipsis": ...,
}


def twice(durable: DurableTools, oracle: Any, saver: Any, value: Any) -> tuple[list[Any], Any]:
    """What a protected tool gave in the first pass of a node and in the pass after a pause; and the last state."""
    give, stop = durable.wrap(
        [oracle.tool("give", lambda _: value), oracle.tool("stop", lambda _: str(interrupt("?")))]
    )
    given: list[Any] = []

    def node(_: MessagesState) -> dict[str, Any]:
        given.append(give.invoke({"x": "it"}))
        stop.invoke({"x": "here"})
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    app = graph.compile(checkpointer=saver)
    app.invoke({"messages": []}, THREAD)
    return given, app.invoke(Command(resume="go on"), THREAD)


def typed(value: Any) -> Any:
    """The value with the type of every part, comparable where `==` is blind (1, True and 1.0; 0.0 and -0.0; fold)."""
    kind = type(value)
    if kind in (list, tuple):
        return kind, [typed(item) for item in value]
    if kind in (set, frozenset):
        return kind, {(type(item), item) for item in value}
    if kind is dict:
        return kind, [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, BaseModel):
        return kind, typed(dict(value)), sorted(value.model_fields_set)
    if kind is dt.datetime:
        return kind, value.isoformat(), value.fold, repr(value.tzinfo)
    return kind, value, repr(value)


@pytest.mark.parametrize("name", KEPT)
def test_a_replayed_value_has_the_same_types_all_through(name, make_durable, sync_saver, oracle):
    durable = make_durable(types=[Color, Level, Price, Line])

    (first, second), _ = twice(durable, oracle, sync_saver, KEPT[name])

    assert typed(second) == typed(first)
    assert oracle.lines.count("give:it") == 1


def test_a_nan_stays_a_nan(durable, sync_saver, oracle):
    (_, second), _ = twice(durable, oracle, sync_saver, [math.nan, decimal.Decimal("NaN")])

    assert (type(second[0]), math.isnan(second[0])) == (float, True)
    assert (type(second[1]), second[1].is_nan()) == (decimal.Decimal, True)


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_without_an_exact_form_is_a_question_and_no_repeat(
    name, durable, sync_saver, oracle
):
    given, state = twice(durable, oracle, sync_saver, {"raw": [REFUSED[name]]})

    assert given == [{"raw": [REFUSED[name]]}]
    assert causes(state) == ["unrecordable"]
    assert oracle.lines.count("give:it") == 1
