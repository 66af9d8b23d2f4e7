"""How our errors and questions leave our code for the framework, and how sync code waits for store work."""

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from agent_adapter.errors import ConfigError
from agent_adapter.exec.integration import Asked, ClaimLost
from agent_adapter.runtime import shared
from agent_adapter_langgraph._approval import Parked
from agent_adapter_langgraph._selfcheck import require_questions
from agent_adapter_langgraph._signals import LookAgain, stopping

T = TypeVar("T")


@contextmanager
def leaving(note: str = "", *, lost: bool = True) -> Iterator[None]:
    """What leaves this block leaves as the framework may see it.

    A question becomes a pause, a lost claim a second look, anything else an error that ends the run.

    Args:
        note: why an answer that is around decided nothing.
        lost: False for who takes the second look itself.
    """
    try:
        yield
    except Asked as asked:
        try:
            require_questions()
        except ConfigError as refused:
            raise stopping(refused) from None
        raise Parked([asked.question], asked.note or note) from None
    except ClaimLost:
        if not lost:
            raise
        raise LookAgain from None
    except Exception as error:  # noqa: BLE001 - it leaves as an error of its own class
        raise stopping(error) from None


def in_sync(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of store work, waited for in this thread."""
    return shared().run(work)
