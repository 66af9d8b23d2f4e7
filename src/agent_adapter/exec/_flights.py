"""Single flight inside one process: whoever is at a call first works, everyone else waits for the end and looks again.

This saves work and questions; it decides nothing. Safety rests on the store's compare-and-set alone.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio


class FlightKey(NamedTuple):
    """One call of one store: the store's owner token names this process and the store's file."""

    owner: str
    run: str
    key: str


class Flight:
    """The right to work on one call in this process, until `land`."""

    def __init__(self, key: FlightKey) -> None:
        self._key = key
        # An async caller that dies with its loop, without a chance to say so, has ended too.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._landed: Future[None] = Future()
        # A running future cannot be cancelled: a waiter that gives up must not end the wait of the others.
        self._landed.set_running_or_notify_cancel()

    @property
    def abandoned(self) -> bool:
        """Whether the loop on which somebody was at the call is closed."""
        return self.loop is not None and self.loop.is_closed()

    def land(self) -> None:
        """End the flight and wake everyone who waits for it; landing twice is fine."""
        with _lock:
            if _flying.get(self._key) is self:
                del _flying[self._key]
        if not self._landed.done():
            self._landed.set_result(None)


_flying: dict[FlightKey, Flight] = {}
_lingering: dict[str, Callable[[], bool]] = {}
_lock = threading.Lock()


def is_flying(key: FlightKey) -> bool:
    """Whether somebody in this process is at the call."""
    flight = _flying.get(key)
    return flight is not None and not flight.abandoned


def linger(nonce: str, running: Callable[[], bool]) -> None:
    """Remember that an attempt of this process goes on in a thread, although nobody waits for it any more."""
    _lingering[nonce] = running


def lingers(nonce: str) -> bool:
    """Whether that attempt still goes on."""
    running = _lingering.get(nonce)
    if running is not None and not running():
        _lingering.pop(nonce, None)
        return False
    return running is not None


def take_off(key: FlightKey) -> Flight | Future[None]:
    """A new flight when nobody in this process is at the call, else the end of the one that is."""
    with _lock:
        other = _flying.get(key)
        if other is not None and not other.abandoned:
            return other._landed  # noqa: SLF001 - one module
        if other is not None:
            other._landed.set_result(None)  # noqa: SLF001 - whoever still waits for it looks again
        flight = _flying[key] = Flight(key)
        return flight


def take_over(key: FlightKey) -> Flight:
    """A new flight beside that of somebody who is at the call and does not end."""
    with _lock:
        flight = _flying[key] = Flight(key)
        return flight


def _forget_after_fork() -> None:
    # What the parent's threads were at is not under way here, and one of them may have held the lock.
    global _lock  # noqa: PLW0603 - see above
    _lock = threading.Lock()
    _flying.clear()
    _lingering.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
