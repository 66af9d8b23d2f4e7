"""Time zones: which have an exact form, and that form.

`None`, `["zone", key]` for `ZoneInfo`, `["offset", microseconds]` with the name behind it if it has one for
`datetime.timezone`, and `["pydantic", seconds]` for the zone that pydantic gives to the datetimes it parses.
"""

from datetime import datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from pydantic_core import TzInfo

_MICROSECOND = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_SHOWN_KEY_CHARACTERS = 60


class InexactError(ValueError):
    """A value or a stored form has no exact other side; the message goes on after the name of its type."""


def zone_body(value: datetime | time) -> list[Any] | None:
    """The stored form of the value's time zone, None when it is naive.

    Raises:
        InexactError: the zone is of another type, or a reader would see another clock.
    """
    zone = value.tzinfo
    if zone is None:
        return None
    body = _body(zone)
    if body is None:
        raise InexactError(f"has a time zone of type {type(zone).__qualname__}, which is not exact")
    # A zone made from a file may carry any key, so the key alone proves nothing.
    again = value.replace(tzinfo=read_zone(body))
    if _clock(value) != _clock(again):
        raise InexactError(f"has a time zone that is not the {body[1]!r} of this system")
    return body


def read_zone(body: Any) -> tzinfo | None:
    """The time zone of a stored form.

    Raises:
        InexactError: the form is malformed, or this system has no such zone.
    """
    match body:
        case None:
            return None
        case ["zone", str(key)]:
            try:
                return ZoneInfo(key)
            except Exception as error:
                # The key becomes a path: what can go wrong depends on the file system.
                shown = key[:_SHOWN_KEY_CHARACTERS]
                raise InexactError(f"has the time zone {shown!r}, unknown here") from error
        case ["offset", int(offset), *name]:
            return timezone(offset * _MICROSECOND, *name)
        case ["pydantic", int(offset)]:
            return TzInfo(offset)
        case _:
            raise InexactError("has a malformed time zone")


def _body(zone: tzinfo) -> list[Any] | None:
    if type(zone) is ZoneInfo:
        return ["zone", zone.key] if zone.key else None
    offset = zone.utcoffset(None) if type(zone) in (timezone, TzInfo) else None
    if offset is None:
        return None
    if type(zone) is TzInfo:
        return ["pydantic", offset // _SECOND]
    name = zone.tzname(None)
    return ["offset", offset // _MICROSECOND, *([] if name == str(timezone(offset)) else [name])]


def _clock(value: datetime | time) -> tuple[object, ...]:
    return value.utcoffset(), value.tzname(), value.dst()
