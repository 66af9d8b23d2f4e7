"""The canonical text and its digest: one for equal values, another for every other value."""

import dataclasses
import datetime as dt
import decimal
import enum
import hashlib
import math
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agent_adapter._canonical import canonical, decode, digest, encode, ordered

T = TypeVar("T")
MOMENT = dt.datetime(2024, 3, 10, 2, 30)  # noqa: DTZ001 - a naive one is a case of its own


class Level(enum.IntEnum):
    ONE = 1


class Right(enum.Flag):
    READ = 1


class Box(BaseModel, Generic[T]):
    item: T


@dataclasses.dataclass(frozen=True)
class Point:
    item: int


DIFFERENT = [
    1, 1.0, True, "1", b"1", decimal.Decimal(1), decimal.Decimal("1.0"), Level.ONE, Right.READ, "Level.ONE",
    0, 0.0, -0.0, False, None, "", "None", math.nan, "nan", math.inf, [], (), {}, set(), frozenset(), [[]], [()],
    "\u00e9", "e\u0301", "\U0001f600", "\ud83d\ude00", {1: 2}, {"1": 2}, {True: 2}, {1.0: 2}, {(1,): 2},
    {"$dict": {"1": 2}},    {"$int": "1"}, ["$int", "1"], {"$tuple": []}, {"$set": []}, {"$float": "nan"}, {"item": 1},
    MOMENT, MOMENT.replace(fold=1), MOMENT.replace(tzinfo=dt.UTC), MOMENT.isoformat(), MOMENT.date(), MOMENT.time(),
    MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(0), "Z")), dt.timedelta(seconds=1), dt.timedelta(microseconds=1),
    Point(1), Box(item=1), Box[int](item=1), Box.model_construct(_fields_set=set(), item=1), encode(Point(1)),
]  # fmt: skip

PARTS = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.dates()
KEYS = PARTS | st.tuples(PARTS, PARTS) | st.frozensets(PARTS, max_size=3) | st.builds(Point, PARTS)


def test_different_values_have_different_digests() -> None:
    """Item 147."""
    assert len({digest(encode(value)) for value in DIFFERENT}) == len(DIFFERENT)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(KEYS, PARTS), max_size=6, unique_by=lambda pair: pair[0]), st.randoms())
def test_insertion_order_is_kept_and_is_not_in_the_digest(pairs: list[Any], random: Any) -> None:
    """Item 147."""
    value, shuffled = dict(pairs), dict(random.sample(pairs, len(pairs)))
    known = {f"{Point.__module__}:Point": Point}

    assert digest(encode(value)) == digest(encode(shuffled))
    assert encode(set(value)) == encode(set(shuffled))
    assert list(decode(encode(shuffled), known=known).items()) == list(shuffled.items())


def test_the_canonical_text_is_sorted_compact_ascii() -> None:
    assert canonical(encode({"b": (1, -0.0), "a": {2: "\u00e9"}})) == (
        '{"a":{"$dict":{"2":"\\u00e9"}},"b":{"$tuple":[1,-0.0]}}'
    )


def test_the_ordered_text_keeps_the_order_of_keys() -> None:
    assert ordered({"b": 1, "a": 2}) == '{"b":1,"a":2}'


def test_a_digest_is_the_same_in_every_release() -> None:
    value = {
        "to": "a@b.c",
        "cents": 500,
        "when": MOMENT,
        "tags": {"y", "x"},
        "price": decimal.Decimal("1.10"),
    }
    text = (
        '{"cents":500,"price":{"$decimal":"1.10"},"tags":{"$set":["x","y"]},"to":"a@b.c",'
        '"when":{"$datetime":["2024-03-10T02:30:00",0,null]}}'
    )
    assert digest(encode(value)) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("value", [{"rows": [{"a": [1]}]}, {"rows": [{"a": [1], "b": (1,)}]}])
def test_the_form_and_the_value_share_nothing(value: dict[str, Any]) -> None:
    form = encode(value)
    before = canonical(form)
    value["rows"][0]["a"].append(2)
    decode(form)["rows"][0]["a"].append(3)
    assert canonical(form) == before


def test_the_decimal_context_of_the_caller_changes_nothing() -> None:
    value = decimal.Decimal("1E+30")
    with decimal.localcontext(decimal.Context(prec=1, capitals=0, traps=[])):
        form = encode(value)
        again = decode(form)
    assert (form, again.as_tuple()) == ({"$decimal": "1E+30"}, value.as_tuple())
