"""The canonical encoding: what comes back is equal and of equal type."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
import zoneinfo
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from agent_adapter._canonical import decode, encode, ordered, reachable_types

T = TypeVar("T")


class Color(enum.Enum):
    RED = "r"


class Word(enum.StrEnum):
    YES = "yes"


class Level(enum.IntEnum):
    ONE = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Mask(enum.IntFlag):
    LOW = 1


class Price(BaseModel):
    color: Color
    when: dt.datetime
    amount: decimal.Decimal


class Order(BaseModel):
    price: Price
    tags: set[str]
    anything: Any = None


class Box(BaseModel, Generic[T]):
    item: T


@dataclasses.dataclass
class Line:
    color: Color
    inner: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: int


@dataclasses.dataclass(frozen=True)
class Node:
    child: Any


KNOWN = reachable_types(Order | Box[int] | Line | Point | Node | Word | Level | Right | Mask)
MOMENT = dt.datetime(2024, 3, 10, 2, 30, 0, 123456)  # noqa: DTZ001 - a naive one is a case of its own
EDGES = (dt.datetime.min, dt.datetime.max)  # noqa: DTZ901 - the same
PARIS = zoneinfo.ZoneInfo("Europe/Paris")
PRICE = Price(color=Color.RED, when=MOMENT, amount=decimal.Decimal("1.0"))


def same(left: Any, right: Any) -> bool:  # noqa: C901 - one case a kind
    """Equal types, values, bits and orders all the way down; written without the code under test."""
    if type(left) is not type(right):
        return False
    match left:
        case float():
            return repr(left) == repr(right)
        case decimal.Decimal():
            return left.as_tuple() == right.as_tuple()
        case dt.datetime() | dt.time():
            return (
                left.replace(tzinfo=None) == right.replace(tzinfo=None)
                and left.fold == right.fold
                and type(left.tzinfo) is type(right.tzinfo)
                and str(left.tzinfo) == str(right.tzinfo)
                and left.utcoffset() == right.utcoffset()
            )
        case list() | tuple():
            return len(left) == len(right) and all(map(same, left, right))
        case dict():
            return same(list(left), list(right)) and same(list(left.values()), list(right.values()))
        case set() | frozenset():
            rest = list(right)
            for item in left:
                match_ = next((other for other in rest if same(item, other)), rest)
                if match_ is rest:
                    return False
                rest.remove(match_)
            return not rest
        case BaseModel():
            return (
                same(vars(left), vars(right))
                and left.model_fields_set == right.model_fields_set
                and same(left.__pydantic_extra__, right.__pydantic_extra__)
                and same(left.__pydantic_private__, right.__pydantic_private__)
            )
        case _ if dataclasses.is_dataclass(left):
            return all(
                same(getattr(left, field.name), getattr(right, field.name))
                for field in dataclasses.fields(left)
            )
    return bool(left == right)


def nested(levels: int, wrap: Any) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


ROUND_TRIP = {
    "none": None,
    "true": True,
    "int": 10**30,
    "int64 and beyond": [2**63, 2**64, -(2**63) - 1],
    "int of 5,000 digits": 10**5000,
    "negative int of 5,000 digits": -(10**5000),
    "float": 0.1,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-0.0": -0.0,
    "subnormal": 5e-324,
    "str": "text",
    "empty str": "",
    "nul": "a\x00b",
    "astral": "\U0001f600",
    "lone surrogate": "a\ud800b",
    "split surrogate pair": "\ud83d\ude00",
    "split surrogate pair in a key": {"\ud83d\ude00": 1, "\U0001f600": 2},
    "nfc": "\u00e9",
    "nfd": "e\u0301",
    "1 MB str": "x" * 10**6,
    "bytes": b"\x00\xff",
    "tuple": (1, 2),
    "nested tuple": {"k": [(1, 2)]},
    "set": {1, "1", None},
    "frozenset": frozenset({1}),
    "set of tuples": {(1, 2)},
    "set of frozensets": {frozenset({1}), frozenset()},
    "set of mixed": {2.5, "b", b"b", None, Color.RED, dt.date(2024, 1, 1)},
    "empty containers": [[], {}, (), set(), frozenset(), "", b""],
    "int keys": {1: "a"},
    "mixed 1 and '1'": {1: "a", "1": "b"},
    "bool keys": {True: 1, False: 0},
    "tuple key": {(1, (2,)): 3},
    "many key types": {
        None: 1, 1.5: 2, b"k": 3, Color.RED: 4, dt.date(2024, 1, 1): 5, uuid.UUID(int=5): 6,
        decimal.Decimal(1): 7, Point(1): 8, -0.0: 9, frozenset({1}): 10, 10**5000: 11,
    },
    "dict with a $model key": {"$model": {"type": "a:b", "fields": {}}},
    "dict with a $ key among others": {"a": 1, "$": {"$tuple": []}},
    "dict order": {"b": 1, "a": {"d": 1, "c": 2}},
    "naive datetime": MOMENT,
    "fold": MOMENT.replace(fold=1),
    "utc": MOMENT.replace(tzinfo=dt.UTC),
    "fixed offset": MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=-3, microseconds=1))),
    "named offset": MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=-5), "EST")),
    "zone": MOMENT.replace(tzinfo=PARIS),
    "zone, second of two equal clocks": dt.datetime(2024, 10, 27, 2, 30, tzinfo=PARIS, fold=1),
    "datetime parsed by pydantic": TypeAdapter(dt.datetime).validate_python("2024-01-01T00:00:00+02:00"),
    "first and last datetime": [edge.replace(tzinfo=zone) for zone in (None, PARIS) for edge in EDGES],
    "date": MOMENT.date(),
    "time": MOMENT.time(),
    "time with zones": [dt.time(1, fold=1, tzinfo=PARIS), dt.time(1, tzinfo=dt.UTC)],
    "timedelta": [dt.timedelta(days=-1, microseconds=1), dt.timedelta.max, dt.timedelta.min],
    "decimal": [decimal.Decimal(text) for text in ("1.10", "1.1", "1E+3", "-0", "NaN", "sNaN12", "-Infinity")],
    "uuid": uuid.UUID(int=5),
    "enum": Color.RED,
    "str enum": Word.YES,
    "int enum": [Level.ONE, 1],
    "flags": [Right.READ, Right.READ | Right.WRITE, Right(0), Mask.LOW | 8],
    "model": Order(price=PRICE, tags={"a"}, anything=PRICE),
    "model, fields set": [Box(item=1), Box.model_construct(_fields_set=set(), item=1)],
    "generic model": [Box[int](item=1), Box(item="a")],
    "model that validation would refuse": Price.model_construct(color="bad", when=None, amount=1),
    "model that validation would change": Box[int].model_construct(item="1"),
    "dataclass": Line(Color.RED, Line(Color.RED, {1: 2})),
    "frozen dataclass with slots": Point(1),
    "lists 100 deep": nested(100, lambda value: [value]),
    "dicts 100 deep": nested(100, lambda value: {"k": value}),
    "tuples 100 deep": nested(100, lambda value: (value,)),
    "sets 100 deep": nested(100, lambda value: frozenset({value})),
    "int-keyed dicts 100 deep": nested(100, lambda value: {1: value}),
    "models 100 deep": nested(100, lambda value: Box(item=value)),
    "dataclasses 100 deep": nested(100, Node),
}  # fmt: skip


@pytest.mark.parametrize("kind", ROUND_TRIP)
def test_what_is_decoded_is_equal_and_of_equal_type(kind: str) -> None:
    """Items 124 and 146."""
    value = ROUND_TRIP[kind]
    assert same(decode(encode(value), known=KNOWN), value)


ZONES = st.one_of(
    st.none(),
    st.timezones(),
    st.builds(dt.timezone, st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23))),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.uuids(), st.decimals(),
    st.text(st.characters(codec=None)), st.text("a\ud83d\ude00\u00e9", max_size=4), st.dates(), st.timedeltas(),
    st.datetimes(timezones=ZONES), st.times(timezones=ZONES), st.sampled_from([Color.RED, Level.ONE, Mask(3)]),
)  # fmt: skip
# NaN is equal to nothing, and a signalling one has no hash: neither is a key.
KEYS = st.recursive(
    LEAVES.filter(lambda leaf: not isinstance(leaf, float | decimal.Decimal) or "nan" not in str(leaf).lower()),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3) | st.builds(Node, inner),
    max_leaves=3,
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["$set", "$model"]), inner, max_size=4
        ),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.builds(Node, inner),
        st.builds(Line, st.just(Color.RED), inner),
        st.builds(lambda item: Box(item=item), inner),
    ),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_any_value_comes_back_through_its_text(value: Any) -> None:
    """Item 146."""
    form = json.loads(ordered(encode(value)))
    assert same(decode(form, known=KNOWN), value)
