"""The classes that a type annotation reaches: what `decode` may make for a tool that declares it."""

import dataclasses
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, NewType, TypeVar

from pydantic import BaseModel

from agent_adapter._canonical._shapes import class_name


def reachable_types(annotation: object) -> dict[str, type]:
    """The models, dataclasses and enums in `annotation`, by the name under which `encode` stores them.

    Followed: unions, `Annotated`, arguments of generics, `Literal` members, type aliases, `NewType`, bounds and
    constraints of type variables, the fields of models, dataclasses and typed dicts, and the generic model behind
    a parametrized one. Not followed: subclasses that nobody declared, and forward references that cannot be
    resolved. A name that two reached classes share is left out, since a stored name must mean one class.
    """
    names: dict[str, set[type]] = {}
    seen: set[int] = set()
    # `kept` keeps the annotations alive, so that no id in `seen` is used again by another one.
    kept: list[object] = []
    todo: list[object] = [annotation]
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        kept.append(current)
        if isinstance(current, type) and _is_stored_class(current):
            names.setdefault(class_name(current), set()).add(current)
        todo.extend(_inside(current))
    return {name: next(iter(found)) for name, found in names.items() if len(found) == 1}


def _is_stored_class(cls: type) -> bool:
    return issubclass(cls, BaseModel | Enum) or dataclasses.is_dataclass(cls)


def _inside(annotation: Any) -> Iterator[object]:
    origin = typing.get_origin(annotation)
    if origin is Literal:
        yield from (type(value) for value in typing.get_args(annotation))
    elif origin is typing.Annotated:
        yield annotation.__origin__
    elif origin is type:
        return  # the class itself is returned, not an instance
    elif origin is not None:
        yield origin
        yield from typing.get_args(annotation)
    elif isinstance(annotation, TypeVar):
        yield annotation.__bound__
        yield from annotation.__constraints__
    elif isinstance(annotation, NewType):
        yield annotation.__supertype__
    elif type(annotation).__name__ == "TypeAliasType":
        yield annotation.__value__
    elif isinstance(annotation, type):
        yield from _fields_of(annotation)


def _fields_of(cls: type) -> Iterator[object]:
    if issubclass(cls, BaseModel):
        if not cls.__pydantic_complete__:
            cls.model_rebuild(raise_errors=False)
        yield from (field.annotation for field in cls.model_fields.values())
        yield cls.__pydantic_generic_metadata__["origin"]
        yield from cls.__pydantic_generic_metadata__["args"]
    elif dataclasses.is_dataclass(cls) or typing.is_typeddict(cls):
        try:
            yield from typing.get_type_hints(cls).values()
        except (NameError, TypeError, AttributeError):
            return  # a name in them exists for type checkers only, so no class stands for it
