"""The key ring of a store: given, configured, from the environment, or the store's own embedded key."""

from collections.abc import Sequence

from agent_adapter._default_key import ENVIRONMENT, default_key_ring
from agent_adapter._sealing import KeyRing
from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import EmbeddedKey

CheckpointKey = bytes | str | Sequence[bytes | str]


def key_ring(store: object, checkpoint_key: CheckpointKey | None = None) -> KeyRing:
    """The keys that seal and open this store's documents; may read or create a small file.

    Raises:
        ConfigError: a key is shorter than 16 bytes, the store's key file does not fit the store, or the store is shared
            between machines and no key was given.
    """
    if checkpoint_key is not None:
        return KeyRing(checkpoint_key)
    if (default := default_key_ring()) is not None:
        return default
    if isinstance(store, EmbeddedKey):
        return KeyRing(store.embedded_key())
    raise ConfigError(
        f"{type(store).__name__} is shared and makes no key of its own: pass checkpoint_key=…, set {ENVIRONMENT}, "
        "call configure(checkpoint_key=…), or use a store with an embedded key (SQLite, memory)"
    )
