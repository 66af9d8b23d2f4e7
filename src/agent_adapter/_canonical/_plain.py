"""Plain JSON: what it is, its one canonical text, and its digest.

Plain means exact types only, so that text and value determine each other: `dict` with `str` keys, `list`, `str`, `int`,
finite `float`, `bool`, `None`. Two kinds are left out although JSON can write them, because reading would not give
them back: integers that `sys.set_int_max_str_digits` may refuse, and a surrogate pair spelled as two characters.
"""

import hashlib
import json
import re
from typing import Any

from agent_adapter.errors import NotSealable

# What `encode` returns for MAX_LEVELS nested values is up to three times as deep; the rest is room for what wraps it.
MAX_LEVELS = 100
MAX_PLAIN_LEVELS = 400
TOO_DEEP = "is nested deeper than the call stack has room for"

# The lowest limit that a process can set on int <-> text is 640 digits; below this bound no setting gets in the way.
_INT_BOUND = 1 << 2000
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SHOWN_KEY_CHARACTERS = 60

# Cycles are found by the check that always comes first.
_sorted_text = json.JSONEncoder(
    allow_nan=False, check_circular=False, sort_keys=True, separators=(",", ":")
).encode
_ordered_text = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def check_plain(value: object, path: str = "$") -> None:
    """Nothing, when `value` is plain JSON, at most 400 containers deep. What `encode` returns always passes.

    Raises:
        NotSealable: a part is not plain JSON, contains itself, or lies too deep; `path` says where it is.
    """
    try:
        if not is_plain(value, levels=MAX_PLAIN_LEVELS, tags=True):
            _refuse(value, path, MAX_PLAIN_LEVELS, frozenset())
    except RecursionError:
        raise NotSealable(path, type_name(value), TOO_DEEP) from None


def canonical(plain: object) -> str:
    """The one ASCII text of plain JSON: equal texts mean equal values of equal types, in any order of keys.

    Raises:
        NotSealable: `plain` is not plain JSON.
    """
    check_plain(plain)
    return _sorted_text(plain)


def ordered(plain: object) -> str:
    """The ASCII text of plain JSON with its keys in the order they stand in.

    Raises:
        NotSealable: `plain` is not plain JSON.
    """
    check_plain(plain)
    return _ordered_text(plain)


def digest(encoded: object) -> str:
    """The hex SHA-256 of the canonical text of `encoded`.

    Raises:
        NotSealable: `encoded` is not plain JSON; give it to `encode` first.
    """
    return hashlib.sha256(canonical(encoded).encode("ascii")).hexdigest()


def is_plain(value: object, *, levels: int, tags: bool) -> bool:
    """True for plain JSON of at most `levels` nested containers; keys that start with `$` pass only with `tags`."""
    kind = type(value)
    if kind is dict or kind is list:
        return _holds_plain(value, levels, tags)
    return _holds_plain([value], 1, tags)


def copied(plain: Any) -> Any:
    """A copy of plain JSON that shares no container with it."""
    kind = type(plain)
    if kind is dict:
        result = plain.copy()
        for key, item in result.items():
            if type(item) is dict or type(item) is list:
                result[key] = copied(item)
        return result
    if kind is list:
        return [
            copied(item) if type(item) is dict or type(item) is list else item for item in plain
        ]
    return plain


def writable_int(value: int) -> bool:
    """True when every process can write and read the integer in decimal, whatever its limit on digits."""
    return -_INT_BOUND < value < _INT_BOUND


def writable_str(value: str) -> bool:
    """True when JSON gives the string back: no surrogate pair in it is spelled as two characters."""
    return value.isascii() or _SPLIT_PAIR.search(value) is None


def type_name(value: object) -> str:
    """The type of `value` as errors show it: `module.qualname`."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def entry(path: str, key: str) -> str:
    """The path of a dict entry or a field: `$.key`, or `$['another key']`."""
    if key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{key[:_SHOWN_KEY_CHARACTERS]!r}]"


def _holds_plain(  # noqa: C901, PLR0912 - a call per scalar would cost more than writing the JSON
    container: Any, levels: int, tags: bool
) -> bool:
    if not levels:
        return False
    if type(container) is dict:
        for key in container:
            if type(key) is not str or not (key.isascii() or writable_str(key)):
                return False
            if not tags and key[:1] == "$":
                return False
        container = container.values()
    for item in container:
        kind = type(item)
        if kind is str:
            if not (item.isascii() or writable_str(item)):
                return False
        elif kind is int:
            if not -_INT_BOUND < item < _INT_BOUND:
                return False
        elif kind is dict or kind is list:
            if not _holds_plain(item, levels - 1, tags):
                return False
        elif kind is float:
            if item - item != 0.0:  # inf and nan
                return False
        elif item is not None and kind is not bool:
            return False
    return True


def _refuse(value: Any, path: str, levels: int, above: frozenset[int]) -> None:
    kind = type(value)
    if kind is dict or kind is list:
        if id(value) in above:
            raise NotSealable(path, type_name(value), "contains itself")
        if not levels:
            raise NotSealable(path, type_name(value), f"is nested deeper than {MAX_PLAIN_LEVELS}")
        above |= {id(value)}
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not writable_str(key):
                raise NotSealable(path, type_name(key), "is a key that plain JSON does not have")
            _refuse(item, entry(path, key), levels - 1, above)
    elif kind is list:
        for index, item in enumerate(value):
            _refuse(item, f"{path}[{index}]", levels - 1, above)
    elif not is_plain(value, levels=0, tags=True):
        raise NotSealable(path, type_name(value), "is not plain JSON")
