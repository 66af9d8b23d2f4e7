"""How bridges name calls: stable hashes, and digests of what a framework's storage gives back."""

import hashlib
from typing import Any

from agent_adapter._canonical import digest, encode


def stable_hash(*parts: str) -> str:
    """64 hex digits over these parts."""
    # The length of each part keeps the parts apart whatever they contain.
    return hashlib.sha256(
        "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    ).hexdigest()


def as_stored(value: Any) -> Any:
    """The value as JSON storage gives it back: no lone surrogates, lists for tuples, string keys."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [as_stored(item) for item in value]
    if isinstance(value, dict):
        return {as_stored(str(key)): as_stored(item) for key, item in value.items()}
    return value


def call_digest(tool: str, arguments: Any) -> str:
    """The digest of a call: its tool and its arguments as they come back from storage.

    Raises:
        NotSealable: an argument has no exact stored form.
    """
    return digest([tool, encode(as_stored(arguments))])
