"""The executor whose call the present code is the body of: what an agent without one of its own uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Executors stand above this module, so it cannot name their class.
_calling: ContextVar[Any] = ContextVar("agent_adapter_executor", default=None)


def calling_executor() -> Any:
    """The executor that runs the present call, None outside one."""
    return _calling.get()


@contextmanager
def calls_of(executor: object) -> Iterator[None]:
    """A scope whose calls are run by this executor; None for a scope that is the body of no call."""
    token = _calling.set(executor)
    try:
        yield
    finally:
        _calling.reset(token)
