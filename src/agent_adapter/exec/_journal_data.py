"""The journal's plain data: entries, markers, and what a visit cannot store. Pure.

data    {"calls": {key: entry}, "asked": {key: {"id", "digest"}}, "inside": {key: data}, "children": {"name:n": data}},
        empty parts left out
entry   {"value": encoded} | {"status": "error" | "denied", "error": {"kind", "type", "message"}} | marker
        what the call used of the run's limits stands beside its result: {…, "spent": {name: number}}
marker  RAN_UNKEYED | {"unrecordable": {"path", "type"}}
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import Any, Final, cast, get_args

from agent_adapter._canonical import check_plain, decode, encode, reachable_types
from agent_adapter.calls import ErrorKind, ToolError, ToolResult
from agent_adapter.errors import NotSealable, ToolUsageError

JournalData = dict[str, Any]
Encoder = Callable[[Any], Any]
Decoder = Callable[[str], Callable[..., Any] | None]

RAN_UNKEYED: Final = "ran unkeyed"
"""Stands where a call ran whose arguments cannot be stored: nobody can tell which call it was."""

_PARTS = ("calls", "asked", "inside", "children")


def to_entry(
    result: ToolResult,
    returns: Any,
    encoder: Encoder | None,
    decoder: Decoder | None,
    spent: Mapping[str, float] | None = None,
) -> Any:
    """The result's entry; a marker when it cannot be stored, or could not be rebuilt from what `returns` names."""
    used = {"spent": dict(spent)} if spent else {}
    if not result.ok:
        error = asdict(cast("ToolError", result.error))
        return {"status": result.status, "error": error, **used}
    try:
        value = encode(result.value, encoder=encoder)
        if _has_tags(value):
            decode(value, known=reachable_types(returns), decoder=decoder)
    except NotSealable as exc:
        return {"unrecordable": {"path": exc.path, "type": exc.type_name}}
    return {"value": value, **used}


def from_entry(entry: Any, tool: str, returns: Any, decoder: Decoder | None) -> ToolResult:
    """The result that an entry stands for.

    Raises:
        NotSealable: the value's class is not (or no longer) reachable from `returns`.
    """
    if "value" in entry:
        known = reachable_types(returns) if _has_tags(entry["value"]) else {}
        value = decode(entry["value"], known=known, decoder=decoder)
        return ToolResult(call_id="", tool=tool, value=value, replayed=True)
    return ToolResult(
        call_id="",
        tool=tool,
        status=entry["status"],
        error=ToolError(**entry["error"]),
        replayed=True,
    )


def why_unrecorded(entry: Any) -> str | None:
    """What a marker says, None for an entry with a result."""
    if entry == RAN_UNKEYED:
        return "its arguments cannot be stored"
    if "unrecordable" in entry:
        return "its result cannot be stored: {type} at {path}".format(**entry["unrecordable"])
    return None


def unsealable_calls(data: JournalData, where: str = "") -> list[str]:
    """Every call in the data that ran and cannot be replayed, as `path/key: reason`; `where` goes before each.

    Raises:
        ToolUsageError: this is no journal data.
    """
    check_data(data)
    return list(_unsealable(data, where))


def _unsealable(data: JournalData, where: str) -> Iterator[str]:
    for key, entry in data.get("calls", {}).items():
        if (reason := why_unrecorded(entry)) is not None:
            yield f"{where}{key}: {reason}"
    for part in ("inside", "children"):
        for name, child in data.get(part, {}).items():
            yield from _unsealable(child, f"{where}{name}/")


def check_data(data: object) -> None:
    """Nothing, when a journal may have written this; asked before anything of it is used.

    Raises:
        ToolUsageError: it is not plain JSON, or a part has another shape; the message says which.
    """
    check_plain(data)
    _check_shape(data, "journal data")


def owned(data: JournalData) -> JournalData:
    """A copy of the data, checked, that nobody else can change.

    Raises:
        ToolUsageError: this is no journal data.
    """
    check_data(data)
    return deepcopy(data)


def _check_shape(data: Any, where: str) -> None:
    if type(data) is not dict or not data.keys() <= set(_PARTS):
        raise ToolUsageError(f"{where}: not the data of a journal")
    for part in _PARTS:
        content = data.get(part, {})
        if type(content) is not dict:
            raise ToolUsageError(f"{where}: {part!r} is no mapping")
        for key, value in content.items():
            if part == "asked":
                _check_asked(value, f"{where}: asked {key!r}")
            elif part != "calls":
                _check_shape(value, f"{where}: {part} {key!r}")
            elif not _is_entry(value):
                raise ToolUsageError(f"{where}: call {key!r} has no known form")


def _check_asked(asked: Any, where: str) -> None:
    texts = type(asked) is dict and all(type(text) is str for text in asked.values())
    if not texts or asked.keys() != {"id", "digest"}:
        raise ToolUsageError(f"{where}: not a request that a journal asked")


def _is_entry(entry: object) -> bool:
    if type(entry) is not dict:
        return entry == RAN_UNKEYED
    match entry:
        case {"value": _, **rest}:
            return _is_spent(rest)
        case {"unrecordable": {"path": str(), "type": str()}}:
            return len(entry) == 1
        case {
            "status": "error" | "denied",
            "error": {"kind": kind, "type": str(), "message": str(), **more},
            **rest,
        }:
            return not more and kind in get_args(ErrorKind) and _is_spent(rest)
    return False


def _is_spent(rest: dict[str, Any]) -> bool:
    """Whether this is nothing, or what a call used."""
    if not rest:
        return True
    spent = rest.get("spent")
    return len(rest) == 1 and type(spent) is dict and all(map(_is_number, spent.values()))


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _has_tags(encoded: Any) -> bool:
    """Whether something in here is more than plain JSON, so that rebuilding it could fail."""
    waiting = [encoded]
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            if any(key.startswith("$") for key in node):
                return True
            waiting.extend(node.values())
        elif type(node) is list:
            waiting.extend(node)
    return False
