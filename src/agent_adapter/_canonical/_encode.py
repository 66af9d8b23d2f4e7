"""Values to their tagged, canonical, plain JSON form; the tables are in `_leaves`, `_zones` and `_shapes`."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from agent_adapter._canonical._leaves import leaf_node
from agent_adapter._canonical._plain import (
    MAX_LEVELS,
    TOO_DEEP,
    canonical,
    copied,
    entry,
    is_plain,
    type_name,
    writable_str,
)
from agent_adapter._canonical._shapes import class_name, has_shape, member_key, parts_of
from agent_adapter._canonical._zones import InexactError
from agent_adapter.errors import NotSealable

Encoder = Callable[[Any], Any]

_PLAIN_LEAVES = frozenset((bool, int, str, float))


def encode(value: object, *, encoder: Encoder | None = None) -> Any:
    """The plain JSON form of `value`, of which `decode` makes an equal value of equal types; they share nothing.

    As they are: `None`, `bool`, `int`, `str`, finite `float`, `list`, and `dict` whose keys are `str` and do not start
    with `$`. Anything else is an object with one key, its tag: `$float` `$int` (beyond 2**2000) `$str` (with a split
    surrogate pair) `$bytes` `$tuple` `$set` `$frozenset` `$dict` (its keys are the canonical text of the encoded
    keys) `$datetime` `$date` `$time` `$timedelta` `$decimal` `$uuid` `$enum` `$model`. Types are exact: a subclass
    of one of these is another type.

    Dicts keep their order in the form, and `canonical` sorts it away: equal dicts have equal digests. Sets are sorted.
    Models and dataclasses are stored by their parts as they are (fields, `model_fields_set`, extras, private
    attributes), not as `model_dump` would convert them.

    Args:
        value: at most 100 containers deep.
        encoder: called with each value that has no form; returns a value to store in its place, or raises. Stored is
            `{"$custom": {"type": "module:qualname", "value": …}}` with the type that was replaced, so that
            `decode` asks its `decoder` for what makes the original of it.

    Raises:
        NotSealable: a part has no exact form (`path` and `type_name` say which), contains itself, or lies too deep;
            where the encoder failed, its exception is the `__cause__`.
    """
    try:
        if is_plain(value, levels=MAX_LEVELS, tags=False):
            return copied(value)
        return _Writer(encoder).node(value, "$", MAX_LEVELS)
    except RecursionError:
        raise NotSealable("$", type_name(value), TOO_DEEP) from None


class _Writer:
    """One walk over a value; `_above` holds the ids of the containers around the current part."""

    def __init__(self, encoder: Encoder | None) -> None:
        self._encoder = encoder
        self._above: set[int] = set()

    def node(self, value: Any, path: str, levels: int) -> Any:
        kind = type(value)
        try:
            leaf = leaf_node(value)
            if leaf is not None:
                return leaf
            if value is None or kind in _PLAIN_LEAVES:
                return value
            if issubclass(kind, Enum):
                return {"$enum": [class_name(kind), member_key(value)]}
        except InexactError as error:
            return self._custom(value, path, levels, str(error))
        if id(value) in self._above:
            raise NotSealable(path, type_name(value), "contains itself")
        if not levels:
            raise NotSealable(path, type_name(value), f"is nested deeper than {MAX_LEVELS}")
        self._above.add(id(value))
        try:
            return self._container(value, path, levels - 1)
        finally:
            self._above.discard(id(value))

    def _container(self, value: Any, path: str, levels: int) -> Any:
        kind = type(value)
        if kind is dict:
            return self._dict(value, path, levels)
        if kind is list:
            return self._items(value, path, levels)
        if kind is tuple:
            return {"$tuple": self._items(value, path, levels)}
        if kind is set or kind is frozenset:
            nodes = [self.node(item, f"{path}[*]", levels) for item in value]
            return {f"${kind.__name__}": sorted(nodes, key=canonical)}
        if has_shape(kind):
            return self._model(value, path, levels)
        return self._custom(value, path, levels, None)

    def _items(self, items: Iterable[Any], path: str, levels: int) -> list[Any]:
        return [self.node(item, f"{path}[{index}]", levels) for index, item in enumerate(items)]

    def _dict(self, value: dict[Any, Any], path: str, levels: int) -> dict[str, Any]:
        if all(type(key) is str and key[:1] != "$" and writable_str(key) for key in value):
            return self._entries(value, path, levels)
        entries = {}
        for key, item in value.items():
            text = canonical(self.node(key, f"{path}.keys()", levels))
            entries[text] = self.node(item, f"{path}[{text}]", levels)
        return {"$dict": entries}

    def _entries(self, value: dict[str, Any], path: str, levels: int) -> dict[str, Any]:
        return {key: self.node(item, entry(path, key), levels) for key, item in value.items()}

    def _model(self, value: Any, path: str, levels: int) -> dict[str, Any]:
        try:
            parts = parts_of(value)
        except InexactError as error:
            return self._custom(value, path, levels, str(error))
        body: dict[str, Any] = {
            "type": class_name(type(value)),
            "fields": self._entries(parts.fields, path, levels),
        }
        if parts.fields_set is not None:
            body["set"] = parts.fields_set
        if parts.extra is not None:
            body["extra"] = self._dict(parts.extra, path, levels)
        if parts.private is not None:
            body["private"] = self._entries(parts.private, path, levels)
        return {"$model": body}

    def _custom(self, value: Any, path: str, levels: int, reason: str | None) -> dict[str, Any]:
        if self._encoder is None or not levels:
            raise _refusal(value, path, reason)
        try:
            replacement = self._encoder(value)
        except Exception as error:
            raise _refusal(value, path, reason) from error
        body = {"type": class_name(type(value)), "value": self.node(replacement, path, levels - 1)}
        return {"$custom": body}


def _refusal(value: Any, path: str, reason: str | None) -> NotSealable:
    return NotSealable(path, type_name(value), *([] if reason is None else [reason]))
