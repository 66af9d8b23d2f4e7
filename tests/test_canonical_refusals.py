"""Values without an exact form are refused, with the path of the part; so is what is not plain JSON."""

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import functools
import inspect
import ipaddress
import math
import pathlib
import re
import sys
import threading
import types
import zoneinfo
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from agent_adapter._canonical import canonical, check_plain, decode, digest, encode, ordered
from agent_adapter.errors import NotSealable, ToolUsageError


class Row(BaseModel):
    item: Any = None


@dataclasses.dataclass
class Line:
    item: Any


class Color(enum.Enum):
    RED = "r"


class Holder(BaseModel):
    item: int
    _lock: Any = PrivateAttr(default_factory=threading.Lock)


class ListLine(list[int]):
    pass


@dataclasses.dataclass
class Rows(list[int]):
    name: str


class Pair(NamedTuple):
    left: int
    right: int


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Thing:
    pass


class OwnZone(dt.tzinfo):
    def utcoffset(self, _moment: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)


class Empty(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclasses.dataclass(slots=True)
class Slots:
    item: int


EXTRA_STATE = Line(1)
EXTRA_STATE.more = 2
LACKING = Row.model_construct(item=1)
del LACKING.__dict__["item"]
UNSET_SLOT = Slots(1)
del UNSET_SLOT.item
ODD_EXTRAS = Empty()
object.__setattr__(ODD_EXTRAS, "__pydantic_extra__", {1: 2})
GHOST = object.__new__(Color)
GHOST._name_ = "RED"
with pathlib.Path(zoneinfo.TZPATH[0], "Europe/Paris").open("rb") as file:
    LYING_ZONE = zoneinfo.ZoneInfo.from_file(file, key="UTC")

REFUSED = {
    "object": object(),
    "instance": Thing(),
    "class": Thing,
    "module": math,
    "function": lambda: 1,
    "generator": (item for item in ()),
    "lock": threading.Lock(),
    "exception": ValueError("x", 1),
    "ellipsis": ...,
    "not implemented": NotImplemented,
    "fraction": fractions.Fraction(1, 3),
    "complex": 1 + 2j,
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"x"),
    "time zone": dt.UTC,
    "path": pathlib.PurePosixPath("/x"),
    "range": range(3),
    "slice": slice(1, 2),
    "ip address": ipaddress.ip_address("::1"),
    "pattern": re.compile("a+"),
    "deque": collections.deque([1], maxlen=2),
    "counter": collections.Counter("aab"),
    "ordered dict": collections.OrderedDict(a=1),
    "default dict": collections.defaultdict(list),
    "named tuple": Pair(1, 2),
    "chain map": collections.ChainMap({"a": 1}),
    "mapping proxy": types.MappingProxyType({"a": 1}),
    "str subclass": Text("x"),
    "int subclass": Number(3),
    "list subclass": ListLine([1]),
    "time zone of another type": dt.datetime(2024, 1, 1, tzinfo=OwnZone()),
    "time zone with another's key": dt.datetime(2024, 1, 1, tzinfo=LYING_ZONE),
    "dataclass that is a list": Rows("a"),
    "dataclass with state outside its fields": EXTRA_STATE,
    "dataclass with an unset slot": UNSET_SLOT,
    "model without a field": LACKING,
    "model that was never initialised": Empty.__new__(Empty),
    "model with extras that have no names": ODD_EXTRAS,
    "enum member that its enum does not know": GHOST,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_not_come_back_is_refused(kind: str) -> None:
    """Item 148."""
    value = REFUSED[kind]
    cls = type(value)
    with pytest.raises(NotSealable) as caught:
        encode({"a": [value]})
    assert (caught.value.path, caught.value.type_name) == (
        "$.a[0]",
        f"{cls.__module__}.{cls.__qualname__}",
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Text("x"), "$"),
        ({"a b": {"c": {1: object()}}}, "$['a b'].c[1]"),
        ({"a": {object(): 1}}, "$.a.keys()"),
        ({"a": {frozenset({Text("x")})}}, "$.a[*][*]"),
        ((1, Line([object()])), "$[1].item[0]"),
        (Holder(item=1), "$._lock"),
        ({Text("x"): 1}, "$.keys()"),
    ],
)
def test_the_path_leads_to_the_part_that_is_refused(value: Any, path: str) -> None:
    """Item 148."""
    with pytest.raises(NotSealable) as caught:
        encode(value)
    assert caught.value.path == path


def nested(levels: int, wrap: Any) -> Any:
    return functools.reduce(lambda value, _: wrap(value), range(levels), 1)


WRAPS = {
    "list": lambda item: [item],
    "dict": lambda item: {"a": item},
    "tuple": lambda item: (item,),
    "line": Line,
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("levels", [101, 50_000])
def test_deeper_than_a_hundred_is_refused(wrap: Any, levels: int) -> None:
    with pytest.raises(NotSealable, match="nested deeper than 100"):
        encode(nested(levels, wrap))


@pytest.mark.parametrize(
    "function", [encode, check_plain, canonical, decode], ids=lambda function: function.__name__
)
@pytest.mark.parametrize(
    "value",
    [nested(90, lambda item: [item]), nested(90, lambda item: {"$tuple": [item]})],
    ids=["list", "tag"],
)
def test_a_call_stack_without_room_is_refused_as_too_deep(function: Any, value: Any) -> None:
    refusals = []

    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
            return
        try:
            function(value)
        except NotSealable as error:
            refusals.append(error.reason)

    for room in range(20, 200, 5):
        below(sys.getrecursionlimit() - len(inspect.stack(0)) - room)
    assert set(refusals) == {"is nested deeper than the call stack has room for"}


def test_a_value_that_contains_itself_is_refused_where_it_does() -> None:
    """Item 148."""
    rows: list[Any] = []
    rows.append(rows)
    line = Line({})
    line.item["line"] = line
    for value, path in ((rows, "$[0]"), ({"a": rows}, "$.a[0]"), (line, "$.item.line")):
        with pytest.raises(NotSealable, match="contains itself") as caught:
            encode(value)
        assert caught.value.path == path
    with pytest.raises(NotSealable, match="contains itself"):
        check_plain(rows)


def test_a_part_that_stands_in_two_places_is_not_refused() -> None:
    rows = [(1,)]
    assert decode(encode([rows, rows])) == [rows, rows]


def test_an_encoder_rescues_what_has_no_form_and_a_decoder_makes_it_again() -> None:
    """Item 148."""
    value = {"at": [pathlib.PurePosixPath("/x"), fractions.Fraction(1, 3)]}
    makers = {
        "pathlib:PurePosixPath": pathlib.PurePosixPath,
        "fractions:Fraction": lambda pair: fractions.Fraction(*pair),
    }

    def replace(item: Any) -> Any:
        return str(item) if isinstance(item, pathlib.PurePosixPath) else item.as_integer_ratio()

    form = encode(value, encoder=replace)

    assert form["at"][0] == {"$custom": {"type": "pathlib:PurePosixPath", "value": "/x"}}
    assert decode(form, decoder=makers.get) == value
    assert digest(form) != digest(encode({"at": ["/x", (1, 3)]}))
    with pytest.raises(NotSealable, match="not among the classes"):
        decode(form)


@pytest.mark.parametrize(
    "encoder",
    [lambda _: 1 / 0, lambda value: value, lambda _: object()],
    ids=["fails", "same", "other"],
)
def test_an_encoder_that_does_not_help_leaves_the_value_refused(encoder: Any) -> None:
    """Item 148: where the encoder failed, its error is the cause."""
    with pytest.raises(NotSealable) as caught:
        encode({"a": object()}, encoder=encoder)
    assert (caught.value.path, caught.value.type_name) == ("$.a", "builtins.object")
    assert isinstance(caught.value.__cause__, ZeroDivisionError | None)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [(1,)]}, "$.a[0]"), ({"a": Number(1)}, "$.a"), ([math.nan], "$[0]"), ([math.inf], "$[0]"), ({1: 2}, "$"),
        ({"a": {None: 1}}, "$.a"), ([Text("x")], "$[0]"), ({Text("x"): 1}, "$"), (ListLine(), "$"), (b"", "$"),
        ([Color.RED], "$[0]"), ([10**5000], "$[0]"), (["\ud83d\ude00"], "$[0]"), ({"a": {"\ud83d\ude00": 1}}, "$.a"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("function", [check_plain, canonical, digest, ordered])
def test_what_is_not_plain_has_no_text(function: Any, value: Any, path: str) -> None:
    """Item 150."""
    with pytest.raises(NotSealable) as caught:
        function(value)
    assert caught.value.path == path


def test_the_path_starts_where_the_caller_says() -> None:
    """Item 150."""
    with pytest.raises(ToolUsageError) as caught:
        check_plain({"a": [()]}, "$.calls")
    assert str(caught.value) == "$.calls.a[0]: builtins.tuple is not plain JSON"


def test_plain_json_passes_and_too_deep_is_refused() -> None:
    assert (
        check_plain([None, True, 1, -0.0, "\ud800", {"$a": {}}, nested(300, lambda item: [item])])
        is None
    )
    for levels in (401, 50_000):
        with pytest.raises(NotSealable, match="nested deeper than 400"):
            check_plain(nested(levels, lambda item: [item]))
