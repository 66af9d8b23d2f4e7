"""Texts as a database keeps them: short ones as they are, longer ones packed."""

import zlib

from agent_adapter.errors import CheckpointStoreCorrupt

PACKED_FROM = 512
# The most that any store takes or gives back.
LARGEST_TEXT_BYTES = 64 * 1024 * 1024


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
