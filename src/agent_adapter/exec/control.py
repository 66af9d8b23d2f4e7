"""Control flow is not failure: one function says which exceptions are signals that have to pass."""

import asyncio
import threading

from agent_adapter.errors import ToolUsageError

__all__ = ["is_control_flow", "register_control_flow"]

# LangGraph's pauses and handoffs are recognised by name: the core imports no framework.
_BY_NAME = "GraphBubbleUp"

_lock = threading.Lock()
_registered: tuple[type[BaseException], ...] = (asyncio.CancelledError,)


def is_control_flow(exc: BaseException) -> bool:
    """Whether the exception is a signal (cancellation, pause, handoff) and not a failure.

    It is when its class or a base is `asyncio.CancelledError`, registered, or named `GraphBubbleUp`; and when it is an
    exception group that holds such an exception, however deep.
    """
    seen = [exc]
    while seen:
        current = seen.pop()
        if isinstance(current, _registered) or any(
            c.__name__ == _BY_NAME for c in type(current).__mro__
        ):
            return True
        if isinstance(current, BaseExceptionGroup):
            seen.extend(current.exceptions)
    return False


def register_control_flow(*types: type[BaseException]) -> None:
    """Treat these exception classes, and classes below them, as control flow from now on.

    Raises:
        ToolUsageError: nothing was given, or something that is no exception class; then nothing is registered.
    """
    if not types or not all(map(_is_exception_type, types)):
        raise ToolUsageError(
            f"register_control_flow takes one or more exception classes, not {types!r}"
        )
    global _registered  # noqa: PLW0603 - one tuple, replaced whole, so that readers need no lock
    with _lock:
        _registered = (
            *_registered,
            *(cls for cls in dict.fromkeys(types) if cls not in _registered),
        )


def _is_exception_type(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)
