"""The barrier: no protected call starts before the checkpoint that it would be resumed from is stored.

LangGraph writes checkpoints in the background. A call that starts earlier would, after a crash, belong to a
step that never was, and the model would be asked again. One point read per step makes the default durability
as safe as `"sync"`.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agent_adapter.errors import ConfigError
from agent_adapter_langgraph._compat import glance
from agent_adapter_langgraph._scope import REMEMBERED
from agent_adapter_langgraph._signals import UnstableVisit, stopping, stops
from agent_adapter_langgraph._visit import Visit

PAUSE_S = 0.01


class Barrier:
    """Waits until a visit's checkpoints are stored; remembers those that are.

    Args:
        wait_s: how long the saver is asked.
        allow_unsaved: calls without a checkpointer and without a run name run unprotected instead of being refused.
    """

    def __init__(self, *, wait_s: float, allow_unsaved: bool) -> None:
        self._wait_s = wait_s
        self._allow_unsaved = allow_unsaved
        self._stored: OrderedDict[tuple[str, str], None] = OrderedDict()

    def protects(self, visit: Visit) -> bool:
        """Whether calls of this visit are recorded.

        Raises:
            ConfigError: there is neither a checkpointer nor a run name, so nothing could ever find the record again.
        """
        if visit.saved:
            return True
        if self._allow_unsaved:
            return False
        raise stopping(
            ConfigError(
                "this graph has no checkpointer (or no thread_id), so a finished tool call could not be found again after a "
                'crash: compile it with a checkpointer and pass configurable={"thread_id": …}, or name the request with '
                'configurable={"agent_adapter_run": "order-42"}, or give up protection with DurableTools(…, allow_unsaved=True)'
            )
        )

    def wait(self, visit: Visit) -> None:
        """Return once every checkpoint that this visit stands on is stored.

        Raises:
            UnstableVisit: they are not stored in time, or never will be before the run ends.
        """
        with stops():
            self._wait(visit)

    async def await_(self, visit: Visit) -> None:
        """As `wait`, without blocking the loop."""
        with stops():
            await self._await(visit)

    def _wait(self, visit: Visit) -> None:
        for missing in self._missing(visit):
            deadline = time.monotonic() + self._wait_s
            while not self._stored_now(visit.saver, missing):
                if time.monotonic() >= deadline:
                    raise self._unstable(visit, missing)
                time.sleep(PAUSE_S)
            self._remember(visit, missing)

    async def _await(self, visit: Visit) -> None:
        for missing in self._missing(visit):
            deadline = time.monotonic() + self._wait_s
            while not await self._astored_now(visit.saver, missing):
                if time.monotonic() >= deadline:
                    raise self._unstable(visit, missing)
                await asyncio.sleep(PAUSE_S)
            self._remember(visit, missing)

    def _stored_now(self, saver: Any, config: Any) -> bool:
        try:
            return glance(saver).get_tuple(config) is not None
        except Exception:  # noqa: BLE001 - this saver has to decode; what it raises then is its own error
            return saver.get_tuple(config) is not None

    async def _astored_now(self, saver: Any, config: Any) -> bool:
        try:
            return await glance(saver).aget_tuple(config) is not None
        except Exception:  # noqa: BLE001 - this saver has to decode; what it raises then is its own error
            return await saver.aget_tuple(config) is not None

    def _missing(self, visit: Visit) -> Iterator[Any]:
        if visit.run_name is not None:
            return
        if visit.leaves_nothing_until_the_end:
            raise UnstableVisit(
                'durability="exit" stores nothing before the run ends, so a crash would repeat every tool call: use '
                'durability="async" (the default) or "sync", or name the request with '
                'configurable={"agent_adapter_run": "order-42"}'
            )
        seen: set[str] = set()
        for namespace, checkpoint in (visit.configurable.get("checkpoint_map") or {}).items():
            # A `@task` repeats its parent's checkpoint under its own namespace, where it is never stored.
            if checkpoint in seen or (visit.thread, checkpoint) in self._stored:
                continue
            seen.add(checkpoint)
            yield {
                "configurable": {
                    "thread_id": visit.thread,
                    "checkpoint_ns": namespace,
                    "checkpoint_id": checkpoint,
                }
            }

    def _remember(self, visit: Visit, stored: Any) -> None:
        self._stored[visit.thread, stored["configurable"]["checkpoint_id"]] = None
        while len(self._stored) > REMEMBERED:
            with suppress(KeyError):  # another thread was faster
                self._stored.popitem(last=False)

    def _unstable(self, visit: Visit, missing: Any) -> UnstableVisit:
        namespace = missing["configurable"]["checkpoint_ns"] or "<root>"
        return UnstableVisit(
            f"node {visit.path!r}: the checkpoint of {namespace!r} that this step would be resumed from is still not stored "
            f"after {self._wait_s} s. Either the checkpointer fails to write (look for its own error: a value that it cannot "
            "store, a closed connection or loop), or this graph has no checkpoints of its own (a subgraph compiled with "
            'checkpointer=False). Let it inherit the checkpointer, or name the request with configurable={"agent_adapter_run": '
            '"order-42"}. Nothing was started'
        )
