"""The idempotency key of the durable call that is running."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str | None] = ContextVar("agent_adapter_idempotency_key", default=None)


def idempotency_key() -> str | None:
    """A key unique to the running tool call, or None outside a durable call.

    It is the same on every attempt of the call: after a recovery, on another worker, on a retry. Pass it to the
    outside service, which can then drop the second of two equal requests.
    """
    return _current.get()


@contextmanager
def _call_key_scope(key: str | None) -> Iterator[None]:
    """A scope in which `idempotency_key()` is `key`; tasks and threads started inside inherit it."""
    token = _current.set(key)
    try:
        yield
    finally:
        _current.reset(token)
