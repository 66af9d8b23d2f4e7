"""Arguments as a person sees them, and what a person puts in their place. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from agent_adapter._canonical import check_plain, digest, encode
from agent_adapter.tools import Tool


def shown_to_person(tool: Tool, arguments: Mapping[str, Any], encoded: Any) -> Any:
    """The arguments as a model would send them, where the tool makes exactly these of that; else their stored form.

    Args:
        tool: takes them.
        arguments: validated.
        encoded: the same in their stored form.
    """
    try:
        plain = to_jsonable_python(dict(arguments))
        check_plain(plain)
        exact = digest(encode(tool.validate(plain))) == digest(encoded)
    except Exception:  # noqa: BLE001 - a serializer and a validator are the tool's code; then the exact form is shown
        return encoded
    return plain if exact else encoded


def edited(
    tool: Tool, edits: Mapping[str, Any], *, shown: Any, arguments: Mapping[str, Any], encoded: Any
) -> dict[str, Any]:
    """What a person put in place of the arguments, as the tool gets it. Edits count as a model's arguments would.

    Where the person was shown the stored form, an argument that comes back as it was shown stands for itself.

    Args:
        tool: takes them.
        edits: what the person gave.
        shown: what the person saw.
        arguments: what that stood for.
        encoded: the stored form of those.

    Raises:
        Exception: the tool does not accept them.
    """
    given = dict(edits)
    if shown == encoded:
        same = {name for name in given if name in arguments and given[name] == encoded.get(name)}
        given.update({name: arguments[name] for name in same})
    return tool.validate(given)
