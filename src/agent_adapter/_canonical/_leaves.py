"""Values without parts that plain JSON does not have, and the one tagged form of each.

A form is `{"$tag": body}`. Reading is strict: a body is right only if the value it gives has exactly this form again.
"""

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from agent_adapter._canonical._plain import writable_int, writable_str
from agent_adapter._canonical._zones import InexactError, read_zone, zone_body

# `str(Decimal)` follows the context of the caller's thread; this one is ours.
_DECIMAL = Context(capitals=1)
_MICROSECOND = timedelta(microseconds=1)
_SHOWN_TAG_CHARACTERS = 40


def leaf_node(value: Any) -> dict[str, Any] | None:
    """The tagged form of a leaf; None when `value` is of no leaf type, or plain as it is.

    Raises:
        InexactError: it is of a leaf type, but this value would not come back as it is.
    """
    writer = _WRITERS.get(type(value))
    return None if writer is None else writer(value)


def read_leaf(node: dict[str, Any]) -> Any:
    """The value of which `node` is the tagged form.

    Raises:
        InexactError: no leaf has this tag, or `leaf_node` does not write this body.
    """
    tag, body = next(iter(node.items()))
    reader = _READERS.get(tag)
    if reader is None:
        raise InexactError(f"has the unknown tag {tag[:_SHOWN_TAG_CHARACTERS]!r}")
    try:
        value = reader(body)
        # `repr` tells 1, 1.0 and True apart, which `==` does not.
        exact = repr(leaf_node(value)) == repr(node)
    except InexactError:
        raise
    except Exception as error:
        # Hostile bodies make the standard types raise nearly anything.
        raise InexactError(f"has a malformed {tag}") from error
    if not exact:
        raise InexactError(f"has a malformed {tag}")
    return value


def _float_node(value: float) -> dict[str, Any] | None:
    return None if math.isfinite(value) else {"$float": repr(value)}


def _int_node(value: int) -> dict[str, Any] | None:
    return None if writable_int(value) else {"$int": hex(value)}


def _str_node(value: str) -> dict[str, Any] | None:
    return (
        None if writable_str(value) else {"$str": _base64(value.encode("utf-8", "surrogatepass"))}
    )


def _clock_body(value: datetime | time) -> list[Any]:
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, zone_body(value)]


def _read_datetime(body: Any) -> datetime:
    text, fold, zone = body
    return datetime.fromisoformat(text).replace(fold=fold, tzinfo=read_zone(zone))


def _read_time(body: Any) -> time:
    text, fold, zone = body
    return time.fromisoformat(text).replace(fold=fold, tzinfo=read_zone(zone))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _read_base64(body: Any) -> bytes:
    return base64.b64decode(body, validate=True)


_WRITERS: dict[type, Callable[[Any], dict[str, Any] | None]] = {
    float: _float_node,
    int: _int_node,
    str: _str_node,
    bytes: lambda value: {"$bytes": _base64(value)},
    date: lambda value: {"$date": value.isoformat()},
    datetime: lambda value: {"$datetime": _clock_body(value)},
    time: lambda value: {"$time": _clock_body(value)},
    timedelta: lambda value: {"$timedelta": value // _MICROSECOND},
    Decimal: lambda value: {"$decimal": _DECIMAL.to_sci_string(value)},
    UUID: lambda value: {"$uuid": str(value)},
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$int": lambda body: int(body, 16),
    "$str": lambda body: _read_base64(body).decode("utf-8", "surrogatepass"),
    "$bytes": _read_base64,
    "$date": date.fromisoformat,
    "$datetime": _read_datetime,
    "$time": _read_time,
    "$timedelta": lambda body: timedelta(microseconds=body),
    "$decimal": Decimal,
    "$uuid": UUID,
}
