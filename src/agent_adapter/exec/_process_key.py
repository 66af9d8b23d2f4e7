"""The process's default checkpoint key: what `configure` sets and every store without a given key uses."""

from agent_adapter._sealing import KeyRing

_ring: KeyRing | None = None


def process_key_ring() -> KeyRing | None:
    """The keys that `configure(checkpoint_key=…)` set, None when it set none."""
    return _ring


def set_process_key_ring(ring: KeyRing | None) -> None:
    """Use these keys from now on; None for none."""
    global _ring  # noqa: PLW0603 - one value, replaced whole, so that readers need no lock
    _ring = ring
