"""The key of whatever is stored without a key of its own: configured for the process, or from the environment."""

import os

from agent_adapter._sealing import KeyRing

ENVIRONMENT = "AGENT_ADAPTER_CHECKPOINT_KEY"

_ring: KeyRing | None = None


def default_key_ring() -> KeyRing | None:
    """The keys that `configure(checkpoint_key=…)` set, else that of the environment, else None.

    Raises:
        ConfigError: the environment's key is too short.
    """
    if _ring is not None:
        return _ring
    given = os.environ.get(ENVIRONMENT)
    return KeyRing(given) if given else None


def set_process_key_ring(ring: KeyRing | None) -> None:
    """Use these keys from now on; None for none."""
    global _ring  # noqa: PLW0603 - one value, replaced whole, so that readers need no lock
    _ring = ring
