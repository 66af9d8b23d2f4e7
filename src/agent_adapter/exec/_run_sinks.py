"""Who listens to a whole run: a sink that the calls of agents inside it report to as well."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from agent_adapter.policies import Event, Sink

_listening: ContextVar[tuple[Sink, ...]] = ContextVar("agent_adapter_run_sinks", default=())


class Listener:
    """A sink whose failure ends the run, but never a call half-way: it is raised once the calls under way have ended.

    Args:
        sink: gets the events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._failure: BaseException | None = None

    async def __call__(self, event: Event) -> None:
        """Hand the event on, unless an earlier one failed."""
        if self._failure is not None:
            return
        try:
            said: Any = self._sink(event)
            if said is not None:
                await said
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised by `check`
            self._failure = exc

    def check(self) -> None:
        """Nothing, while the sink works.

        Raises:
            BaseException: what it raised instead.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure


def run_sinks() -> tuple[Sink, ...]:
    """Who listens to the run that the present code is part of."""
    return _listening.get()


@contextmanager
def listening(sink: Sink | None) -> Iterator[None]:
    """A scope whose calls, and those of agents in it, are reported to this sink too."""
    if sink is None:
        yield
        return
    token = _listening.set((*_listening.get(), sink))
    try:
        yield
    finally:
        _listening.reset(token)
