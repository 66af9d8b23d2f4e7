"""Texts as a database keeps them: short ones as they are, longer ones packed; and the error for what is none."""

import zlib

from pydantic import ValidationError

from agent_adapter.errors import CheckpointStoreCorrupt
from agent_adapter.exec.checkpoints._checks import LARGEST_TEXT_BYTES

PACKED_FROM = 512


def pack(text: str) -> str | bytes:
    """The text itself, or its packed UTF-8 where that is shorter."""
    if len(text) < PACKED_FROM:
        return text
    plain = text.encode()
    packed = zlib.compress(plain, 1)
    return packed if len(packed) < len(plain) else text


def unpack(run_id: str, stored: object) -> str:
    """The text that `pack` was given.

    Raises:
        CheckpointStoreCorrupt: `stored` is not what `pack` returns, or it inflates to more than any store accepts.
    """
    if isinstance(stored, str):
        if not stored.isascii():
            _check_unicode(run_id, stored)
        return stored
    if not isinstance(stored, bytes):
        raise CheckpointStoreCorrupt(run_id, f"a stored text is of type {type(stored).__name__}")
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(stored, LARGEST_TEXT_BYTES + 1)
        if not unpacker.eof or unpacker.unused_data:
            raise CheckpointStoreCorrupt(run_id, "a packed text is cut off, padded or too large")
        return plain.decode()
    except (zlib.error, UnicodeDecodeError) as exc:
        raise CheckpointStoreCorrupt(run_id, f"a packed text does not unpack: {exc}") from exc


def _check_unicode(run_id: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CheckpointStoreCorrupt(run_id, "a stored text is not UTF-8") from None


def corrupt(run_id: str, exc: ValidationError) -> CheckpointStoreCorrupt:
    """The error for a stored row that no value can be made of."""
    wrong = exc.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in wrong["loc"])
    return CheckpointStoreCorrupt(run_id, f"stored {where} is wrong: {wrong['msg']}")
