"""Signals and errors that no error handler, retry or fallback of the framework may swallow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import GraphBubbleUp

from agent_adapter.errors import AgentAdapterError


class LookAgain(GraphBubbleUp):
    """Another worker claimed the call while this one was on its way to the body."""


class UnstableVisit(AgentAdapterError, GraphBubbleUp):
    """The checkpoint that this step would be resumed from is not stored, so a crash could not be told from a new run."""


class Stopped(AgentAdapterError, GraphBubbleUp):
    """The run has to stop; `__cause__` is the error that says why."""


_stopping: dict[type[BaseException], type[BaseException]] = {}


def stopping(error: Exception) -> BaseException:
    """The same error, as one that ends the graph run: `handle_tool_errors` and retry middleware let it pass.

    It is still an instance of its own class, so `except CheckpointConflict` around `invoke()` works.
    """
    if isinstance(error, GraphBubbleUp):
        return error
    kind = type(error)
    if kind not in _stopping:
        namespace: dict[str, Any] = {
            "__doc__": kind.__doc__,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        }
        _stopping[kind] = type(kind.__name__, (kind, GraphBubbleUp), namespace)
    try:
        stopped = _stopping[kind].__new__(_stopping[kind], *error.args)
        stopped.args = error.args
        stopped.__dict__.update(error.__dict__)
    except Exception:  # noqa: BLE001 - an exception that cannot be copied like this is named instead
        stopped = Stopped(f"{kind.__name__}: {error}")
    stopped.__cause__ = error
    return stopped


@contextmanager
def stops() -> Iterator[None]:
    """Errors leave this block as ones that end the graph run."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it leaves as an error of its own class
        raise stopping(error) from None
