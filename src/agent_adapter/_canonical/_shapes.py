"""What an instance of a user's class consists of, and the instance made of those parts again.

No constructor, validator, property or `__setstate__` of the class runs, in either direction: the parts are read from
the instance and put back as they are. So what validation would now refuse or change still comes back as it was.
"""

import dataclasses
import enum
import inspect
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from types import MemberDescriptorType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from agent_adapter._canonical._zones import InexactError

_HEAP_TYPE = 1 << 9


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a model or dataclass instance; `None` where the class has no such part."""

    fields: dict[str, Any]
    fields_set: list[str] | None = None
    extra: dict[str, Any] | None = None
    private: dict[str, Any] | None = None


def class_name(cls: type) -> str:
    """The name under which a class is stored: `module:qualname`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def has_shape(cls: type) -> bool:
    """True for pydantic models and dataclasses."""
    return issubclass(cls, BaseModel) or dataclasses.is_dataclass(cls)


def member_key(member: enum.Enum) -> str | int:
    """What identifies a member in its enum: the name, or the value of a flag, whose combinations have no name.

    Raises:
        InexactError: the enum does not give this very member back for it.
    """
    key = member._value_ if isinstance(member, enum.Flag) else member._name_
    cls = type(member)
    if not may_have_member(cls, key) or find_member(cls, key) is not member:
        raise InexactError("is not a member that its enum gives back")
    return key


def may_have_member(cls: type[enum.Enum], key: object) -> bool:
    """False when the enum has no member of that key, found out without running code of the enum."""
    if issubclass(cls, enum.Flag):
        return type(key) is int
    return type(key) is str and key in cls.__members__


def find_member(cls: type[enum.Enum], key: Any) -> enum.Enum:
    """The member of a key that `may_have_member` let pass.

    Raises:
        InexactError: a flag has no such combination.
    """
    if not issubclass(cls, enum.Flag):
        return cls.__members__[key]
    try:
        member = cls(key)
    except ValueError as error:
        raise InexactError("has no such combination") from error
    if member._value_ != key:
        raise InexactError("has no such combination")
    return member


def parts_of(value: Any) -> Parts:
    """The parts of a model or dataclass instance; cached properties are left out, they are computed anew.

    Raises:
        InexactError: it has state that is in none of these parts, or lacks some of it.
    """
    cls = type(value)
    state = _raw_state(value)
    fields = _fields(cls)
    for name in list(state):
        if name not in fields:
            if not isinstance(inspect.getattr_static(cls, name, None), cached_property):
                raise InexactError(f"keeps state outside its fields, in {name!r}")
            del state[name]
    for name in fields:
        if name not in state:
            raise InexactError(f"lacks its field {name!r}")
    parts = Parts(state) if not isinstance(value, BaseModel) else _model_parts(value, state)
    check_fit(cls, parts)
    return parts


def check_fit(cls: type, parts: Parts) -> None:
    """Nothing, when an instance of `cls` can be made of parts with these names.

    Raises:
        InexactError: the class lost a field, gained a required one, or has other kinds of parts.
    """
    fields = _fields(cls)
    for name in parts.fields:
        if name not in fields:
            raise InexactError(f"has no field {name!r}")
    for name, default in fields.items():
        if default is None and name not in parts.fields:
            raise InexactError(f"needs the field {name!r}, which was not stored")
    model = issubclass(cls, BaseModel)
    attributes: Collection[str] = cls.__private_attributes__ if issubclass(cls, BaseModel) else ()
    if (
        (parts.fields_set is not None) != model
        or (parts.private is not None) != bool(attributes)
        or (
            parts.extra is not None
            and (not issubclass(cls, BaseModel) or cls.__pydantic_root_model__)
        )
    ):
        raise InexactError("has other kinds of parts than a stored instance")
    for name in parts.private or ():
        if name not in attributes:
            raise InexactError(f"has no private attribute {name!r}")


def _set_state(made: BaseModel) -> Callable[[Any, dict[Any, Any]], None]:
    """Pydantic's own way to put an instance's parts back, whatever its class defines."""
    if not made.__pydantic_root_model__:
        return BaseModel.__setstate__
    # Imported here: the class is a model itself, and making the first one loads every pydantic plugin.
    from pydantic import RootModel

    return RootModel.__setstate__


def rebuild(cls: type, parts: Parts) -> Any:
    """An instance of exactly these parts; fields that the class gained since have their defaults."""
    state = dict(parts.fields)
    for name, default in _fields(cls).items():
        if name not in state and default is not None:
            state[name] = default()
    made: Any = object.__new__(cls)
    if isinstance(made, BaseModel):
        _set_state(made)(
            made,
            {
                "__dict__": state,
                "__pydantic_fields_set__": set(parts.fields_set or ()),
                "__pydantic_extra__": parts.extra,
                "__pydantic_private__": parts.private,
            },
        )
        return made
    slots = _slots(cls)
    for name, item in state.items():
        if name in slots:
            slots[name].__set__(made, item)
        else:
            object.__getattribute__(made, "__dict__")[name] = item
    return made


def _raw_state(value: Any) -> dict[str, Any]:
    state: dict[str, Any] = {}
    cls: type = type(value)
    for name, slot in _slots(cls).items():
        try:
            state[name] = slot.__get__(value)
        except AttributeError:
            continue
    with suppress(AttributeError):  # there may be slots only
        state |= object.__getattribute__(value, "__dict__")
    return state


@lru_cache(maxsize=512)
def _slots(cls: type) -> dict[str, MemberDescriptorType]:
    slots: dict[str, MemberDescriptorType] = {}
    for base in cls.__mro__[:-1]:
        if not base.__flags__ & _HEAP_TYPE:
            raise InexactError(f"is built on {base.__qualname__}, whose content is in no field")
        if base is not BaseModel:
            for name, attribute in vars(base).items():
                if isinstance(attribute, MemberDescriptorType):
                    slots.setdefault(name, attribute)
    return slots


def _fields(cls: type) -> dict[str, Callable[[], Any] | None]:
    """The fields of a class with what makes their default, None where a value is required."""
    if issubclass(cls, BaseModel):
        return {
            name: None
            if field.is_required()
            else partial(field.get_default, call_default_factory=True)
            for name, field in cls.model_fields.items()
        }
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {field.name: _dataclass_default(field) for field in fields}


def _dataclass_default(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    return None


def _model_parts(model: BaseModel, fields: dict[str, Any]) -> Parts:
    fields_set: Any = getattr(model, "__pydantic_fields_set__", None)
    if type(fields_set) is not set or not all(type(name) is str for name in fields_set):
        raise InexactError("does not know which of its fields were set")
    private: Any = getattr(model, "__pydantic_private__", None)
    if private is not None:
        private = {name: item for name, item in private.items() if item is not PydanticUndefined}
    extra: Any = getattr(model, "__pydantic_extra__", None)
    if extra is not None and not (type(extra) is dict and all(type(key) is str for key in extra)):
        raise InexactError("keeps its extra fields in no dict of names")
    return Parts(fields, sorted(fields_set), extra, private)
