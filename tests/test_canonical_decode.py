"""What is decoded: only forms that `encode` writes, and nothing is made before the whole form is checked."""

import dataclasses
import enum
import functools
import math
import random
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from agent_adapter._canonical import canonical, check_plain, decode, encode
from agent_adapter.errors import NotSealable

MADE: list[str] = []


class Watched(BaseModel):
    item: Any = None

    @model_validator(mode="before")
    @classmethod
    def watch(cls, value: Any) -> Any:
        MADE.append("validated")
        return value

    def __new__(cls, **_: Any) -> Any:
        MADE.append("constructed")
        return super().__new__(cls)

    def model_post_init(self, _context: Any) -> None:
        MADE.append("initialised")


@dataclasses.dataclass
class Line:
    item: Any

    def __post_init__(self) -> None:
        MADE.append("initialised")

    def __hash__(self) -> int:
        MADE.append("hashed")
        return 1


class Color(enum.Enum):
    RED = "r"

    @classmethod
    def _missing_(cls, value: object) -> None:
        MADE.append("looked up")


class Right(enum.Flag):
    READ = 1


class Loose(enum.Flag, boundary=enum.CONFORM):
    """A flag that drops the bits it does not know."""

    READ = 1


MODULE = __name__
KNOWN = {f"{MODULE}:{cls.__qualname__}": cls for cls in (Watched, Line, Color)}
GOOD = encode([Watched(item=1), {Line(2)}, {Line(3): 4}, Color.RED])


def in_tuples(levels: int) -> Any:
    return functools.reduce(lambda form, _: {"$tuple": [form]}, range(levels), 1)


NEW_YEAR = "2024-01-01T00:00:00"
MALFORMED = [
    {"$": 1}, {"$unknown": []}, {"$tuple": 1}, {"$tuple": {}}, {"$tuple": [], "a": 1}, {"a": 1, "$tuple": []},
    {"$set": [2, 1]}, {"$set": [1, 1]}, {"$set": "ab"}, {"$frozenset": None}, {"$float": "1.5"}, {"$float": 1.5},
    {"$float": "NaN"}, {"$int": "0x1"}, {"$int": 1}, {"$str": "YQ=="}, {"$str": 1}, {"$bytes": "YQ"},
    {"$bytes": "YR=="}, {"$bytes": "é"}, {"$date": "20240101"}, {"$date": NEW_YEAR}, {"$datetime": NEW_YEAR},
    {"$datetime": ["2024-01-01", 0, None]}, {"$datetime": [NEW_YEAR, False, None]},
    {"$datetime": ["2024-01-01T00:00:00+00:00", 0, None]}, {"$datetime": [NEW_YEAR, 0, ["zone", "No/Where"]]},
    {"$datetime": [NEW_YEAR, 0, ["zone", "/etc/passwd"]]}, {"$datetime": [NEW_YEAR, 0, ["x"]]},
    {"$datetime": [NEW_YEAR, 0, ["offset", 10**20]]}, {"$time": ["25:00:00", 0, None]}, {"$timedelta": 10**30},
    {"$timedelta": True}, {"$timedelta": 0.5}, {"$decimal": "1_0"}, {"$decimal": " 1"}, {"$decimal": "x"},
    {"$decimal": [0, [1], 0]}, {"$uuid": "5"}, {"$uuid": "{00000000-0000-0000-0000-000000000005}"}, {"$dict": []},
    {"$dict": {"x": 1}}, {"$dict": {" 1": 1}}, {"$dict": {"1e999": 1}}, {"$dict": {"[" * 5000: 1}},
    {"$enum": "x"}, {"$enum": [f"{MODULE}:Color"]}, {"$enum": [f"{MODULE}:Color", "r"]},
    {"$enum": [f"{MODULE}:Color", "BLUE"]}, {"$enum": [f"{MODULE}:Line", "RED"]}, {"$model": "x"}, {"$model": {}},
    {"$model": {"type": f"{MODULE}:Line"}}, {"$model": {"type": f"{MODULE}:Color", "fields": {}}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "set": ["item"]}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "more": 1}},
    {"$model": {"type": f"{MODULE}:Line", "fields": {"item": 1}, "extra": None}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": ["b", "a"]}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": [], "extra": {"$dict": {"1": 1}}}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": [], "private": {"_a": 1}}},
    {"$model": {"type": f"{MODULE}:Watched", "fields": {"item": 1}, "set": [], "extra": []}},
    {"$model": {"type": "builtins:dict", "fields": {}}}, {"$custom": {"type": "os:system", "value": "x"}},
    {"$custom": {"type": 1, "value": 1}}, {"$custom": ["os:system", "x"]}, {"$enum": ["os:Gone", "A"]},
    (1,), {1: 1}, [math.nan], object(), 10**5000, in_tuples(101),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MALFORMED)))
def test_a_form_that_nobody_wrote_is_refused_before_anything_is_made(number: int) -> None:
    """Item 149."""
    MADE.clear()
    with pytest.raises(NotSealable):
        decode([*GOOD, MALFORMED[number]], known=KNOWN)
    assert MADE == []


def test_reading_runs_no_constructor_and_no_validator() -> None:
    """Item 149."""
    MADE.clear()
    assert decode(GOOD[0], known=KNOWN).item == 1
    assert (
        decode({"$model": {"type": f"{MODULE}:Line", "fields": {"item": 2}}}, known=KNOWN).item == 2
    )
    assert MADE == []


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"$dict": {"1": "a", "true": "b"}}, "two of its parts are equal"),
        ({"$set": ["x", 1, True]}, "two of its parts are equal"),
        ({"$frozenset": [[]]}, "unhashable"),
        ({"$dict": {'{"$set":[]}': 1}}, "unhashable"),
        ({"$enum": [f"{MODULE}:Right", 8]}, "has no such combination"),
        ({"$enum": [f"{MODULE}:Loose", 9]}, "has no such combination"),
    ],
)
def test_what_cannot_be_made_of_its_parts_is_refused(form: Any, reason: str) -> None:
    with pytest.raises(NotSealable, match=reason):
        decode(form, known={f"{MODULE}:Right": Right, f"{MODULE}:Loose": Loose})


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
