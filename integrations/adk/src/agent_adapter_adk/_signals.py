"""Stopped: the one exception that ends a run so that nothing more is written and a resume goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

from agent_adapter.exec.integration import Asked, ClaimLost


class Stopped(BaseException):
    """The run has to stop here; `__cause__` is the error that says why.

    It is no `Exception`, because ADK and plugins turn those into answers or error events, after which the call could not be
    taken up again. ADK stores nothing after it, and the invocation can be resumed.
    """


@contextmanager
def stops() -> Iterator[None]:
    """Errors leave this block as `Stopped`; questions and lost claims stay what they are."""
    try:
        yield
    except (Asked, ClaimLost):
        raise
    except Exception as error:
        raise Stopped(f"{type(error).__name__}: {error}") from error
