"""Sealed documents: plain JSON with a MAC that binds it to the place where it is stored. Pure.

A document is the ASCII text `v1.<key id>.<mac>.<body>`. The MAC stands before the body and covers its exact characters,
so nothing of a body is parsed before it is verified. The body keeps the order of its keys, so that a value that is
read back prints as it did at first.
"""

import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_adapter._canonical import canonical, ordered
from agent_adapter.errors import CheckpointStoreCorrupt, ConfigError, ToolUsageError

_MINIMUM_KEY_BYTES = 16
_VERSION = re.compile(r"v([0-9]{1,9})\.")
_HEADER = re.compile(r"v1\.([0-9a-f]{12})\.([0-9a-f]{64})\.")
# Different first lines keep a MAC made for one purpose from being one for the other.
_SEAL_DOMAIN = b"agent_adapter seal v1\n"
_KEY_ID_DOMAIN = b"agent_adapter key id v1\n"

_NOT_SEALED = (
    "a sealed document is expected and there is no seal: it was written without one or was replaced; "
    "restore it from a backup, or delete the run"
)


class KeyRing:
    """The keys of sealed documents: the first one signs, every one verifies, which makes rotation possible."""

    __slots__ = ("_keys", "key_id")

    def __init__(self, keys: bytes | str | Sequence[bytes | str]) -> None:
        """The ring of one key or of several.

        Raises:
            ConfigError: there is no key, or one is neither bytes nor text or has less than 16 bytes.
        """
        several: Any = [keys] if isinstance(keys, bytes | str) else keys
        if not isinstance(several, Sequence) or not several:
            raise ConfigError(
                "checkpoint_key has to be bytes, text, or a sequence of them that is not empty"
            )
        secrets = [_secret(key) for key in several]
        self._keys = {_key_id(secret): secret for secret in reversed(secrets)}
        self.key_id = _key_id(secrets[0])
        """A public name of the signing key, from which the key cannot be found."""

    def __repr__(self) -> str:
        return f"<KeyRing signing with {self.key_id}>"

    def mac(self, text: str, key_id: str) -> str | None:
        """The hex HMAC-SHA256 of ASCII `text` under the key of that id, None when the ring does not hold it."""
        key = self._keys.get(key_id)
        if key is None:
            return None
        return hmac.digest(key, _SEAL_DOMAIN + text.encode("ascii"), "sha256").hex()

    def ids(self) -> list[str]:
        """The ids of the keys that verify."""
        return list(self._keys)


def seal(ring: KeyRing, value: object, binding: Mapping[str, str | int]) -> str:
    """The sealed document of plain JSON, which only `unseal` with an equal `binding` opens.

    Raises:
        NotSealable: `value` is not plain JSON; `encode` makes it so.
        ToolUsageError: `binding` is not a mapping of text to text and integers.
    """
    body = ordered(value)
    mac = ring.mac(_bound(body, binding), ring.key_id)
    return f"v1.{ring.key_id}.{mac}.{body}"


def unseal(ring: KeyRing, document: object, binding: Mapping[str, str | int]) -> Any:
    """The plain JSON that was sealed under a key of the ring and exactly this `binding`.

    Raises:
        CheckpointStoreCorrupt: the document has no seal, one that does not match, or one of another version or key;
            nothing of its body was read. The reason says which, and the way out.
        ToolUsageError: `binding` is not a mapping of text to text and integers.
    """
    run_id = str(binding.get("run_id", ""))
    if not isinstance(document, str) or not document.isascii():
        raise CheckpointStoreCorrupt(run_id, f"{_NOT_SEALED}; found {type(document).__name__}")
    header = _HEADER.match(document)
    if header is None:
        raise CheckpointStoreCorrupt(run_id, _why_no_header(document))
    body = document[header.end() :]
    key_id, claimed = header.groups()
    mac = ring.mac(_bound(body, binding), key_id)
    if mac is None:
        raise CheckpointStoreCorrupt(
            run_id,
            f"a document is sealed under the key {key_id}, and the keys given are {', '.join(ring.ids())}: "
            "add its key to checkpoint_key, behind the one that signs",
        )
    if not hmac.compare_digest(mac, claimed):
        raise CheckpointStoreCorrupt(
            run_id,
            f"the seal of a document does not match: it was changed, or belongs to another place than {dict(binding)}; "
            "restore it from a backup, or delete the run",
        )
    return json.loads(body)


def _bound(body: str, binding: Mapping[str, str | int]) -> str:
    for name, item in binding.items():
        if type(name) is not str or type(item) not in (str, int):
            raise ToolUsageError(f"a binding maps text to text or integers, got {name!r}: {item!r}")
    # Canonical JSON has no line break, so the first one ends the binding.
    return f"{canonical(dict(binding))}\n{body}"


def _why_no_header(document: str) -> str:
    version = _VERSION.match(document)
    if version is None:
        return _NOT_SEALED
    if version[1] != "1":
        return (
            f"a document is sealed in format v{version[1]}, and this release reads v1: "
            "use the release that wrote it, or a newer one"
        )
    return "the seal of a document is cut short or malformed; restore it from a backup, or delete the run"


def _secret(key: object) -> bytes:
    try:
        secret = key.encode() if isinstance(key, str) else key
    except UnicodeEncodeError:
        raise ConfigError("checkpoint_key is text that UTF-8 cannot encode") from None
    if not isinstance(secret, bytes) or len(secret) < _MINIMUM_KEY_BYTES:
        raise ConfigError(
            f"checkpoint_key has to be bytes or text of at least {_MINIMUM_KEY_BYTES} bytes, "
            "for example secrets.token_hex(32)"
        )
    return secret


def _key_id(secret: bytes) -> str:
    return hmac.digest(secret, _KEY_ID_DOMAIN, "sha256").hex()[:12]
