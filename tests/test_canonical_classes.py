"""Instances of users' classes: stored by their parts, made of their parts again, and what a deploy may change."""

import dataclasses
import datetime as dt
import enum
import functools
from collections.abc import AsyncIterator
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypedDict, TypeVar

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    SecretStr,
    computed_field,
    field_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType

from agent_adapter._canonical import decode, encode, reachable_types
from agent_adapter._canonical._shapes import class_name
from agent_adapter.errors import NotSealable

T = TypeVar("T")


class Kind(enum.Enum):
    A = "a"
    B = "b"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    item: int = Field(default=0, alias="the item")


class Private(BaseModel):
    item: int
    _cache: dict[str, int] = PrivateAttr(default_factory=dict)
    _unset: int = PrivateAttr()


class Twice(BaseModel):
    """Its validator would change a value that is validated again."""

    item: str

    @field_validator("item")
    @classmethod
    def double(cls, item: str) -> str:
        return item * 2

    @computed_field
    @property
    def size(self) -> int:
        return len(self.item)

    @functools.cached_property
    def upper(self) -> str:
        return self.item.upper()


class Ids(RootModel[list[int]]):
    pass


class Box(BaseModel, Generic[T]):
    item: T


class Tree(BaseModel):
    kind: Kind
    children: list["Tree"] = []


class Early(BaseModel):
    late: "Late"


class Late(BaseModel):
    kind: Kind


@dataclasses.dataclass(slots=True)
class Slots:
    item: int
    derived: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.derived = self.item + 1


@dataclasses.dataclass
class Chain(Generic[T]):
    item: T
    following: Optional["Chain[T]"] = None


@pydantic_dataclass
class Checked:
    item: int


class Options(TypedDict):
    kind: Kind


def known(*classes: type) -> dict[str, type]:
    return {class_name(cls): cls for cls in classes}


def again(value: Any) -> Any:
    return decode(
        encode(value),
        known=known(Kind, Open, Private, Twice, Ids, Box, Box[int], Tree, Slots, Chain, Checked),
    )


def test_extras_and_the_fields_that_were_set_come_back() -> None:
    value = Open.model_validate({"the item": 1, "$x": (1,), "other": {3}})
    made = again(value)
    assert (made, made.model_extra, made.model_fields_set) == (
        value,
        value.model_extra,
        value.model_fields_set,
    )
    assert again(Open()).model_fields_set == set()


def test_private_attributes_come_back_and_unset_ones_stay_unset() -> None:
    value = Private(item=1)
    value._cache["a"] = 1
    made = again(value)
    assert (made, made._cache) == (value, {"a": 1})
    assert not hasattr(made, "_unset")


def test_no_validator_changes_what_comes_back() -> None:
    value = Twice(item="ab")
    assert value.upper == "ABAB"
    made = again(value)
    assert (made.item, made.size, "upper" in vars(made), made) == ("abab", 4, False, value)


@pytest.mark.parametrize(
    "value",
    [
        Ids([1, 2]), Box[int](item=1), Box(item=(1,)), Tree(kind=Kind.A, children=[Tree(kind=Kind.B)]), Slots(1),
        Chain(1, Chain(2)), Checked(1), Box[int].model_construct(item="no int"),
    ],
    ids=["root", "parametrized", "generic", "recursive", "slots", "chain", "pydantic dataclass", "invalid"],
)  # fmt: skip
def test_instances_come_back_equal_and_of_equal_class(value: Any) -> None:
    made = again(value)
    assert (type(made), made) == (type(value), value)
    assert getattr(made, "derived", None) == getattr(value, "derived", None)


def test_what_a_model_holds_and_has_no_form_is_refused_at_its_field() -> None:
    with pytest.raises(NotSealable) as caught:
        encode({"box": Box(item=SecretStr("x"))})
    assert (caught.value.path, caught.value.type_name) == ("$.box.item", "pydantic.types.SecretStr")


def stored(**fields: Any) -> dict[str, Any]:
    return {"$model": {"type": "shop:Quote", "fields": fields}}


@dataclasses.dataclass
class Quote:
    cents: int
    currency: str = "EUR"
    tags: list[str] = dataclasses.field(default_factory=list)


class QuoteModel(BaseModel):
    cents: int
    currency: str = "EUR"
    tags: list[str] = Field(default_factory=list)


def test_a_field_gained_with_a_default_has_it() -> None:
    assert decode(stored(cents=5), known={"shop:Quote": Quote}) == Quote(5, "EUR", [])
    form = stored(cents=5)
    form["$model"]["set"] = ["cents"]
    made = decode(form, known={"shop:Quote": QuoteModel})
    assert (made, made.model_fields_set) == (QuoteModel(cents=5), {"cents"})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"currency": "EUR"}, "needs the field 'cents', which was not stored"),
        ({"cents": 5, "vat": 1}, "has no field 'vat'"),
    ],
)
@pytest.mark.parametrize("cls", [Quote, QuoteModel])
def test_a_class_that_does_not_fit_any_more_is_refused(fields: Any, reason: str, cls: type) -> None:
    """A value stored by an older release is an error, never a dict and never half an instance."""
    form = stored(**fields)
    if cls is QuoteModel:
        form["$model"]["set"] = []
    with pytest.raises(NotSealable) as caught:
        decode([form], known={"shop:Quote": cls})
    assert str(caught.value) == f"$[0]: shop:Quote {reason}"


def test_a_model_that_lost_a_private_attribute_is_refused() -> None:
    form = encode(Private(item=1))
    form["$model"]["private"]["_gone"] = 1
    with pytest.raises(NotSealable, match="has no private attribute '_gone'"):
        decode(form, known=known(Private))


def test_a_class_that_vanished_or_changed_its_kind_is_refused() -> None:
    for gone in ({}, {"shop:Quote": QuoteModel}, {"shop:Quote": Kind}, {"shop:Quote": int}):
        with pytest.raises(NotSealable):
            decode(stored(cents=5), known=gone)


def test_a_class_that_moved_is_found_where_its_old_name_is_given() -> None:
    assert decode(stored(cents=5, currency="EUR", tags=[]), known={"shop:Quote": Quote}) == Quote(5)


Name = NewType("Name", Tree)
Bound = TypeVar("Bound", bound=Slots)


@pytest.mark.parametrize(
    ("annotation", "classes"),
    [
        (Early, (Early, Late, Kind)), (TypeAliasType("Trees", list[Tree]), (Tree, Kind)),
        (None, ()), (Any, ()), (int, ()), ("Tree", ()), (dict[str, list[int]], ()), (type[Tree], ()),
        (Tree, (Tree, Kind)), (list[Tree] | None, (Tree, Kind)), (dict[str, tuple[Kind, ...]] | None, (Kind,)),
        (Annotated[Tree, Field(description="x")], (Tree, Kind)), (Literal[Kind.A, "x"], (Kind,)),
        (Box[Kind], (Box, Box[Kind], Kind)),
        (Box[Box[int]], (Box, Box[Box[int]], Box[int])), (Chain[Kind], (Chain, Kind)), (Options, (Kind,)),
        (Name, (Tree, Kind)),
        (list[Bound], (Slots,)), (AsyncIterator[Checked], (Checked,)), (dict[Kind, set[Slots]], (Kind, Slots)),
    ],
    ids=str,
)  # fmt: skip
def test_the_classes_of_an_annotation_are_reached(
    annotation: Any, classes: tuple[type, ...]
) -> None:
    assert reachable_types(annotation) == known(*classes)


def test_a_name_that_means_two_classes_is_not_reached() -> None:
    first, second = (dataclasses.make_dataclass("Twin", ["item"]) for _ in range(2))
    assert reachable_types(first | list[second] | Kind) == known(Kind)


def test_a_class_that_the_declared_type_does_not_reach_is_refused() -> None:
    """Item 136."""
    form = encode(Box(item=Slots(1)))
    assert decode(form, known=reachable_types(Box[Slots])) == Box(item=Slots(1))
    for annotation in (Box[int], Slots, dict[str, Any], dt.date):
        with pytest.raises(NotSealable, match="not reachable from the declared return type"):
            decode(form, known=reachable_types(annotation))
