"""Tagged forms back to values: the whole form is checked first, then the value is made."""

import json
from collections.abc import Callable, Mapping, Sized
from enum import Enum
from itertools import pairwise
from typing import Any, TypeVar

from agent_adapter._canonical._leaves import read_leaf
from agent_adapter._canonical._plain import (
    MAX_LEVELS,
    TOO_DEEP,
    canonical,
    check_plain,
    copied,
    entry,
    is_plain,
    type_name,
)
from agent_adapter._canonical._shapes import (
    Parts,
    check_fit,
    find_member,
    has_shape,
    may_have_member,
    rebuild,
)
from agent_adapter._canonical._zones import InexactError
from agent_adapter.errors import NotSealable

# What a class name stands for, when it is not in `known`: the class, for `$custom` a function of one value, or None.
Decoder = Callable[[str], Callable[..., Any] | None]
_Make = Callable[[], Any]
_Whole = TypeVar("_Whole", bound=Sized)

_MODEL_KEYS = {"type", "fields", "set", "extra", "private"}
_MALFORMED = "has a malformed form"
_UNKNOWN = (
    "is not among the classes that may be made here: it is gone, was moved, or is not reachable from the declared "
    "return type"
)


def decode(
    data: object, *, known: Mapping[str, type] | None = None, decoder: Decoder | None = None
) -> Any:
    """The value of which `data` is the encoded form; it shares nothing with `data`.

    Only what `encode` writes is read. Before anything is made, and before any code of a class runs, the whole form is
    checked: plain JSON, tags, bodies, names, fields. Making then puts the stored parts into instances as they are;
    constructors and validators do not run. Fields that a class gained since, and that have defaults, get them.

    Args:
        data: plain JSON, as `encode` returned it.
        known: the classes that may be made, by exact name `module:qualname`; see `reachable_types`.
        decoder: called with each class name that is not in `known`, while the form is checked. It returns the class
            for a `$model` or `$enum`, or, for a `$custom`, the function that makes the value of what the encoder
            returned; None or an exception refuses the name.

    Raises:
        NotSealable: the form is malformed, a name is not known, a class does not fit any more, or a value could not be
            made (two keys or set members became equal, or code that must run, `__hash__` or the
            decoder's function, failed: then it is the `__cause__`).
    """
    try:
        if is_plain(data, levels=MAX_LEVELS, tags=False):
            return copied(data)
        check_plain(data)
        return _Reader(known or {}, decoder).read(data, "$", MAX_LEVELS)()
    except RecursionError:
        raise NotSealable("$", type_name(data), TOO_DEEP) from None


class _Reader:
    """One walk over a plain form; each method checks its part and returns what will make it."""

    def __init__(self, known: Mapping[str, type], decoder: Decoder | None) -> None:
        self._known = known
        self._decoder = decoder
        self._readers: dict[str, Callable[[Any, str, int], _Make]] = {
            "list": self._list,
            "dict": self._dict,
            "$tuple": self._tuple,
            "$set": self._set,
            "$frozenset": self._set,
            "$dict": self._pairs,
            "$model": self._model,
            "$custom": self._custom,
        }

    def read(self, node: Any, path: str, levels: int) -> _Make:
        kind = type(node)
        if kind is not dict and kind is not list:
            return lambda: node
        tag = next((key for key in node if key[:1] == "$"), None) if kind is dict else None
        if tag is not None and len(node) != 1:
            raise NotSealable(path, tag, _MALFORMED)
        reader = self._readers.get(tag or kind.__name__)
        if reader is None:
            return self._enum(node, path) if tag == "$enum" else self._leaf(node, path, str(tag))
        if not levels:
            raise NotSealable(path, tag or kind.__name__, f"is nested deeper than {MAX_LEVELS}")
        return reader(node, path, levels - 1)

    def _leaf(self, node: dict[str, Any], path: str, tag: str) -> _Make:
        try:
            value = read_leaf(node)
        except InexactError as error:
            raise NotSealable(path, tag, str(error)) from error
        return lambda: value

    def _list(self, node: list[Any], path: str, levels: int) -> _Make:
        makes = [self.read(item, f"{path}[{index}]", levels) for index, item in enumerate(node)]
        return lambda: [make() for make in makes]

    def _dict(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        makes = {key: self.read(item, entry(path, key), levels) for key, item in node.items()}
        return lambda: {key: make() for key, make in makes.items()}

    def _tuple(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        make = self._list(_body(node, path, list), path, levels)
        return lambda: tuple(make())

    def _set(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        [tag] = node
        body = _body(node, path, list)
        if not _ascends([canonical(item) for item in body]):
            raise NotSealable(path, tag, _MALFORMED)
        makes = [self.read(item, f"{path}[*]", levels) for item in body]
        kind: type[set[Any] | frozenset[Any]] = set if tag == "$set" else frozenset
        return _guarded(lambda: _whole(kind([make() for make in makes]), len(makes)), path, tag)

    def _pairs(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        pairs = []
        for text, item in _body(node, path, dict).items():
            key = self.read(_key_node(text, path), f"{path}.keys()", levels)
            pairs.append((key, self.read(item, f"{path}[{text}]", levels)))
        return _guarded(
            lambda: _whole({key(): item() for key, item in pairs}, len(pairs)), path, "$dict"
        )

    def _enum(self, node: dict[str, Any], path: str) -> _Make:
        match _body(node, path, list):
            case [str(name), key]:
                cls: Any = self._found(name, path)
            case _:
                raise NotSealable(path, "$enum", _MALFORMED)
        if not (isinstance(cls, type) and issubclass(cls, Enum) and may_have_member(cls, key)):
            raise NotSealable(path, name, "is no enum that has the stored member")
        return _guarded(lambda: find_member(cls, key), path, name)

    def _model(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        body = _body(node, path, dict)
        name, fields, fields_set = body.get("type"), body.get("fields"), body.get("set")
        extra, private = body.get("extra"), body.get("private")
        if (
            type(name) is not str
            or type(fields) is not dict
            or not (fields_set is None or _is_name_list(fields_set))
            or not (extra is None or _is_str_keyed(extra))
            or not (private is None or type(private) is dict)
            or any(body[key] is None or key not in _MODEL_KEYS for key in body)
        ):
            raise NotSealable(path, "$model", _MALFORMED)
        cls: Any = self._found(name, path)
        if not (isinstance(cls, type) and has_shape(cls)):
            raise NotSealable(path, name, "is neither a pydantic model nor a dataclass here")
        try:
            check_fit(cls, Parts(fields, fields_set, extra, private))
        except InexactError as error:
            raise NotSealable(path, name, str(error)) from error
        make_fields = self._dict(fields, path, levels)
        read_extra = self._pairs if extra and "$dict" in extra else self._dict
        make_extra = _nothing if extra is None else read_extra(extra, path, levels)
        make_private = _nothing if private is None else self._dict(private, path, levels)
        return _guarded(
            lambda: rebuild(cls, Parts(make_fields(), fields_set, make_extra(), make_private())),
            path,
            name,
        )

    def _custom(self, node: dict[str, Any], path: str, levels: int) -> _Make:
        body = _body(node, path, dict)
        if body.keys() != {"type", "value"} or type(body["type"]) is not str:
            raise NotSealable(path, "$custom", _MALFORMED)
        name = body["type"]
        function = self._asked(name, path)
        make = self.read(body["value"], path, levels)
        return _guarded(lambda: function(make()), path, name)

    def _found(self, name: str, path: str) -> Callable[..., Any]:
        return self._known[name] if name in self._known else self._asked(name, path)

    def _asked(self, name: str, path: str) -> Callable[..., Any]:
        try:
            found = None if self._decoder is None else self._decoder(name)
        except Exception as error:
            raise NotSealable(path, name, "was refused by the decoder") from error
        if found is None:
            raise NotSealable(path, name, _UNKNOWN)
        return found


def _body(node: dict[str, Any], path: str, kind: type) -> Any:
    [(tag, body)] = node.items()
    if type(body) is not kind:
        raise NotSealable(path, tag, _MALFORMED)
    return body


def _key_node(text: str, path: str) -> Any:
    try:
        node = json.loads(text)
        exact = canonical(node) == text
    except (ValueError, RecursionError, NotSealable) as error:
        raise NotSealable(path, "$dict", _MALFORMED) from error
    if not exact:
        raise NotSealable(path, "$dict", _MALFORMED)
    return node


def _ascends(texts: list[str]) -> bool:
    return all(left < right for left, right in pairwise(texts))


def _is_name_list(names: Any) -> bool:
    return type(names) is list and all(type(name) is str for name in names) and _ascends(names)


def _is_str_keyed(extra: Any) -> bool:
    match extra:
        case {"$dict": dict(pairs)} if len(extra) == 1:
            return all(text.startswith(('"', '{"$str"')) for text in pairs)
        case dict():
            return not any(key.startswith("$") for key in extra)
        case _:
            return False


def _nothing() -> None:
    return None


def _guarded(make: _Make, path: str, name: str) -> _Make:
    def guarded() -> Any:
        try:
            return make()
        except NotSealable:
            raise
        except Exception as error:
            raise NotSealable(path, name, f"could not be made: {error!r}") from error

    return guarded


def _whole(made: _Whole, count: int) -> _Whole:
    if len(made) != count:
        raise InexactError("two of its parts are equal")
    return made
