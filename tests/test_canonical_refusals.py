"""What is refused: values without an exact form, forms that nobody wrote, and both before anything is made."""

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import functools
import ipaddress
import math
import pathlib
import random
import re
import threading
import types
import zoneinfo
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, PrivateAttr, model_validator

from agent_adapter._canonical import canonical, check_plain, decode, digest, encode, ordered
from agent_adapter.errors import NotSealable, ToolUsageError

MADE: list[str] = []


class Watched(BaseModel):
    item: Any = None

    @model_validator(mode="before")
    @classmethod
    def watch(cls, value: Any) -> Any:
        MADE.append("validated")
        return value

    def model_post_init(self, _context: Any) -> None:
        MADE.append("initialised")


@dataclasses.dataclass
class Line:
    item: Any

    def __post_init__(self) -> None:
        MADE.append("initialised")


class Color(enum.Enum):
    RED = "r"

    @classmethod
    def _missing_(cls, value: object) -> None:
        MADE.append("looked up")


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


MODULE = __name__
KNOWN = {f"{MODULE}:{cls.__qualname__}": cls for cls in (Watched, Line, Color)}
PLACES = {"list": [], "dict": {}, "tuple": ()}
EXTRA_STATE = Line(1)
EXTRA_STATE.more = 2
LACKING = Watched.model_construct(item=1)
del LACKING.__dict__["item"]
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
    "model without a field": LACKING,
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


@pytest.mark.parametrize(
    "wrap", [lambda item: [item], lambda item: {"a": item}, lambda item: (item,), Line]
)
@pytest.mark.parametrize("levels", [101, 50_000])
def test_deeper_than_a_hundred_is_refused(wrap: Any, levels: int) -> None:
    with pytest.raises(NotSealable, match="nested deeper than 100"):
        encode(nested(levels, wrap))


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


@pytest.mark.parametrize("encoder", [lambda _: 1 / 0, lambda value: value, lambda _: object()])
def test_an_encoder_that_does_not_help_leaves_the_value_refused(encoder: Any) -> None:
    """Item 148: where the encoder failed, its error is the cause."""
    with pytest.raises(NotSealable) as caught:
        encode({"a": object()}, encoder=encoder)
    assert (caught.value.path, caught.value.type_name) == ("$.a", "builtins.object")
    assert isinstance(caught.value.__cause__, ZeroDivisionError | None)


MALFORMED = [
    {"$": 1}, {"$unknown": []}, {"$tuple": 1}, {"$tuple": {}}, {"$tuple": [], "a": 1}, {"a": 1, "$tuple": []},
    {"$set": [2, 1]}, {"$set": [1, 1]}, {"$set": "ab"}, {"$frozenset": None}, {"$float": "1.5"}, {"$float": 1.5},
    {"$float": "NaN"}, {"$int": "0x1"}, {"$int": 1}, {"$str": "YQ=="}, {"$str": 1}, {"$bytes": "YQ"}, {"$bytes": "YR=="},
    {"$bytes": "é"}, {"$date": "20240101"}, {"$date": "2024-01-01T00:00:00"}, {"$datetime": "2024-01-01T00:00:00"},
    {"$datetime": ["2024-01-01", 0, None]}, {"$datetime": ["2024-01-01T00:00:00", False, None]},
    {"$datetime": ["2024-01-01T00:00:00+00:00", 0, None]}, {"$datetime": ["2024-01-01T00:00:00", 0, ["zone", "No/Where"]]},
    {"$datetime": ["2024-01-01T00:00:00", 0, ["zone", "/etc/passwd"]]}, {"$datetime": ["2024-01-01T00:00:00", 0, ["x"]]},
    {"$datetime": ["2024-01-01T00:00:00", 0, ["offset", 10**20]]}, {"$time": ["25:00:00", 0, None]}, {"$timedelta": 10**30},
    {"$timedelta": True}, {"$timedelta": 0.5}, {"$decimal": "1_0"}, {"$decimal": " 1"}, {"$decimal": "x"},
    {"$decimal": [0, [1], 0]}, {"$uuid": "5"}, {"$uuid": "{00000000-0000-0000-0000-000000000005}"}, {"$dict": []},
    {"$dict": {"x": 1}}, {"$dict": {" 1": 1}}, {"$dict": {"[1]": 1}}, {"$dict": {"1": 1, "true": 2}}, {"$dict": {"1e999": 1}},
    {"$dict": {"[" * 5000: 1}}, {"$enum": "x"}, {"$enum": [f"{MODULE}:Color"]}, {"$enum": [f"{MODULE}:Color", "r"]},
    {"$enum": [f"{MODULE}:Color", "BLUE"]}, {"$enum": [f"{MODULE}:Line", "RED"]}, {"$model": "x"}, {"$model": {}},
    {"$model": {"type": f"{MODULE}:Line"}}, {"$model": {"type": f"{MODULE}:Color", "fields": {}}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "set": ["item"]}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "more": 1}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "extra": None}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": ["b", "a"]}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": [], "extra": {"$dict": {"1": 1}}}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": [], "private": {"_a": 1}}},
    {"$model": {"type": "builtins:dict", "fields": {}}}, {"$custom": {"type": "os:system", "value": "x"}},
    {"$custom": {"type": 1, "value": 1}}, {"$custom": ["os:system", "x"]}, {"$enum": ["os:Gone", "A"]},
    (1,), {1: 1}, [math.nan], Text("x"), object(), 10**5000, nested(101, lambda item: {"$tuple": [item]}),
]  # fmt: skip


@pytest.mark.parametrize("form", MALFORMED, ids=lambda form: repr(form)[:60])
def test_a_form_that_nobody_wrote_is_refused_before_anything_is_made(form: Any) -> None:
    """Item 149."""
    MADE.clear()
    before = encode([Watched.model_construct(item=1), Line.__new__(Line) and Color.RED])
    with pytest.raises(NotSealable):
        decode([*before, form], known=KNOWN)
    assert MADE == []


def test_a_class_is_found_by_its_exact_name_only() -> None:
    """Item 149."""
    form = encode(Line(1))
    for known in ({}, {"Line": Line}, {f"{MODULE}.Line": Line}, {f"{MODULE}:line": Line}):
        with pytest.raises(NotSealable, match="not among the classes"):
            decode(form, known=known)
    assert decode(form, known={f"{MODULE}:Line": Line}) == Line(1)


def test_a_decoder_is_asked_for_other_names_and_may_refuse() -> None:
    """Item 149."""
    asked = []

    def find(name: str) -> Any:
        asked.append(name)
        return {f"{MODULE}:Line": Line}[name]

    assert decode(encode([Line(1), Color.RED]), known={f"{MODULE}:Color": Color}, decoder=find) == [
        Line(1),
        Color.RED,
    ]
    assert asked == [f"{MODULE}:Line"]
    with pytest.raises(NotSealable, match="refused by the decoder") as caught:
        decode(encode([Color.RED]), decoder=find)
    assert (caught.value.path, caught.value.type_name) == ("$[0]", f"{MODULE}:Color")
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [(1,)]}, "$.a[0]"), ({"a": Number(1)}, "$.a"), ([math.nan], "$[0]"), ([math.inf], "$[0]"), ({1: 2}, "$"),
        ({"a": {None: 1}}, "$.a"), ([Text("x")], "$[0]"), ({Text("x"): 1}, "$"), (ListLine(), "$"), (b"", "$"),
        ([Color.RED], "$[0]"), (10**5000, "$"), (["\ud83d\ude00"], "$[0]"), ({"a": {"\ud83d\ude00": 1}}, "$.a"),
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


TAGS = sorted(
    {next(iter(form)) for form in MALFORMED if type(form) is dict and type(next(iter(form))) is str}
)
BODIES = [form[tag] for form in MALFORMED[:-7] for tag in TAGS if tag in form]


def tree(source: random.Random, levels: int) -> Any:
    kind = source.randrange(8 if levels else 4)
    if kind < 4:
        atoms = [
            None,
            True,
            0,
            -1.5,
            math.nan,
            10**700,
            "",
            "$set",
            "a",
            f"{MODULE}:Line",
            "RED",
            *BODIES,
        ]
        return source.choice(atoms)
    items = [tree(source, levels - 1) for _ in range(source.randrange(4))]
    if kind == 4:
        return items
    if kind == 5:
        return {source.choice(["a", "$a", "$", "b", 1]): item for item in items}
    if kind == 6:
        return {source.choice(TAGS): items}
    body = {
        source.choice(["type", "fields", "set", "extra", "private", "value"]): item
        for item in items
    }
    return {
        source.choice(TAGS): {
            "type": f"{MODULE}:{source.choice(['Line', 'Watched', 'Color'])}",
            **body,
        }
    }


def test_random_trees_are_read_or_refused() -> None:
    """Item 151: nothing but NotSealable comes out of 10,000 trees, and what is read has exactly this form again."""
    source = random.Random(151)  # noqa: S311 - the same trees every time
    MADE.clear()
    read = 0
    for _ in range(10_000):
        form = tree(source, 4)
        for function in (check_plain, functools.partial(decode, known=KNOWN)):
            try:
                value = function(form)
            except NotSealable:
                continue
            if function is not check_plain:
                read += 1
                assert canonical(encode(value)) == canonical(form)
    assert 1_000 < read < 9_000
    assert MADE == []
