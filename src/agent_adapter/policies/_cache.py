"""Cache and MemoryCache: where results wait that may answer equal calls."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from agent_adapter.errors import ConfigError


class Cache(Protocol):
    """Keeps values of successful calls for a while. Keys and values are plain; a value is never None.

    A cache that fails is a cache that has nothing: the error is logged and the body runs.
    """

    async def get(self, key: str) -> Any:
        """What was put under the key and has not expired, else None."""
        ...

    async def put(self, key: str, value: Any, ttl_s: float) -> None:
        """Keep this value for so many seconds."""
        ...


class MemoryCache:
    """Cache in this process, for every loop and thread; the entry that was not used for longest makes room.

    Raises:
        ConfigError: `max_entries` is not a number from 1.
    """

    def __init__(
        self, *, max_entries: int = 1024, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if type(max_entries) is not int or max_entries < 1:
            raise ConfigError(f"max_entries is a number from 1, not {max_entries!r}")
        self._max_entries = max_entries
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    async def get(self, key: str) -> Any:
        """What was put under the key and has not expired, else None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            expires, value = entry
            if self._clock() >= expires:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    async def put(self, key: str, value: Any, ttl_s: float) -> None:
        """Keep this value for so many seconds."""
        with self._lock:
            self._entries[key] = (self._clock() + ttl_s, value)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
