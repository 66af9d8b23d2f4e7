"""Results of tools to plain JSON and back: plain data, the classes of `google.genai.types`, and those that a tool declares.

Nothing that a record names is imported or called: other classes are built only when the tool's return annotation reaches
them or the settings name them.
"""

import enum
import functools
from collections.abc import Mapping
from typing import Any

from google.adk.events.ui_widget import UiWidget
from google.genai import types
from pydantic import BaseModel

from agent_adapter.exec.integration import decode, encode, reachable_types

Known = Mapping[str, type]


def name_of(kind: type) -> str:
    """The name under which a class stands in a record."""
    return f"{kind.__module__}:{kind.__qualname__}"


@functools.cache
def genai_types() -> Known:
    """ADK's own vocabulary: parts, blobs, function responses and whatever they hold."""
    found = [
        kind
        for kind in vars(types).values()
        if isinstance(kind, type) and issubclass(kind, BaseModel | enum.Enum)
    ]
    return {name_of(kind): kind for kind in (*found, UiWidget)}


def known_types(tool: Any, extra: Known) -> Known:
    """The classes that a record of this tool or function may hold."""
    annotation = getattr(getattr(tool, "func", tool), "__annotations__", {}).get("return")
    declared = (
        {} if annotation is None or isinstance(annotation, str) else reachable_types(annotation)
    )
    return {**genai_types(), **declared, **extra}


def plain_value(value: Any, known: Known) -> Any:
    """The value as plain JSON, proven to be readable again with these classes.

    Raises:
        NotSealable: something in it has no exact stored form, or is of a class that `known` does not name.
    """
    encoded = encode(value)
    if encoded is not value:
        decode(encoded, known=known)
    return encoded


def load_value(stored: Any, known: Known) -> Any:
    """The value that was recorded.

    Raises:
        NotSealable: the record names a class that is gone or has changed.
    """
    return decode(stored, known=known)
