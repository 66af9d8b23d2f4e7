"""Saving: a save that waits for the first record that stands on it, so that the store can commit both at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agent_adapter.exec._gather import ended


class Saving:
    """One save, handed to its store when it is needed.

    Args:
        save: the save, made when it is handed over.
    """

    def __init__(self, save: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._save = save
        self._handed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether the save has ended, well or not."""
        return self._task is not None and self._task.done()

    async def now(self) -> None:
        """Save at once, with nothing beside it; a cancellation is the store's to deal with.

        Raises:
            CheckpointConflict: another worker took the run; and whatever else the save raised.
        """
        await self._save()

    async def hand_over(self) -> None:
        """Return once the store has the save: what is handed to it after that comes after it."""
        self._task = self._begin()
        while not self._handed:  # noqa: ASYNC110 - an event would wake us a turn of the loop later, when the commit has left
            await asyncio.sleep(0)

    async def end(self) -> None:
        """Return when it is stored, to its end also when the caller is cancelled meanwhile.

        Raises:
            CheckpointConflict: another worker took the run; and whatever else the save raised.
        """
        task = self._begin()
        cancelled = await ended([task], shield=True)
        task.result()
        if cancelled is not None:
            raise cancelled

    def _begin(self) -> "asyncio.Task[None]":
        if self._task is None:
            self._task = asyncio.create_task(self._hand())
        return self._task

    async def _hand(self) -> None:
        # Whoever waits for this goes on after the save's first step, with which the store has it.
        self._handed = True
        await self._save()
