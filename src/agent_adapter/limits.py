"""RunLimits and Meter: how much a run may use, and what it has used, across agents, pauses and recoveries."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Self

from agent_adapter.errors import ConfigError, RunLimitExceeded

__all__ = ["Meter", "RunLimits", "StepsUsedUp", "current_meter", "meter_scope"]

_WHOLE = ("max_tool_calls", "max_model_calls", "max_tokens", "max_agent_depth")


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What one run may use in all: with the agents that it calls, before and after a crash. None is no limit.

    Attributes:
        max_tool_calls: calls of tools, replayed ones included.
        max_model_calls: calls of models.
        max_seconds: seconds in which the run was worked on; the time in which it waits for a person does not count.
        max_tokens: input and output tokens of all models.
        max_cost: cost of all models, in whatever unit they report.
        max_agent_depth: how deep agents may call agents.

    Raises:
        ConfigError: a limit is not a number from 0 on (whole, where it counts things).
    """

    max_tool_calls: int | None = None
    max_model_calls: int | None = None
    max_seconds: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_agent_depth: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            kinds = (int,) if field.name in _WHOLE else (int, float)
            fits = type(limit) in kinds and math.isfinite(limit) and limit >= 0
            if limit is not None and not fits:
                raise ConfigError(f"{field.name} is None or a number from 0 on, not {limit!r}")


class StepsUsedUp(RunLimitExceeded):
    """A loop's own `max_steps` is reached. The loop ends; whatever runs it as one of its calls goes on."""


class Meter:
    """What a run, or one call of it, has used so far; what a part uses counts for the whole too.

    Usable from several threads.

    Args:
        parent: the meter of the whole that this is a part of.
        limits: what holds for this part beside what is given with each use.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        parent: Self | None = None,
        *,
        limits: Sequence[RunLimits | None] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parent = parent
        # What holds for the whole holds for every part of it, whoever runs the part.
        self._limits = (*limits, *(() if parent is None else parent.limits))
        self._clock = clock
        # The clock starts with the first use: a context may be made long before its run begins.
        self._began: float | None = None
        self._lock = threading.Lock()
        self._used: dict[str, float] = dict.fromkeys(_COUNTED, 0)

    def take_tool_call(self, limits: Sequence[RunLimits | None]) -> None:
        """Count one more call of a tool.

        Raises:
            RunLimitExceeded: that would be one too many, or another limit is used up; it is not counted.
        """
        self._take("tool_calls", limits)

    def take_model_call(self, limits: Sequence[RunLimits | None]) -> None:
        """Count one more call of a model.

        Raises:
            RunLimitExceeded: that would be one too many, or another limit is used up; it is not counted.
        """
        self._take("model_calls", limits)

    def check(self, limits: Sequence[RunLimits | None], *, tool_calls: int = 0) -> None:
        """Nothing, while so many calls of tools are left and nothing else is used up.

        Raises:
            RunLimitExceeded: a limit is reached; the message names it.
        """
        used = self.root.used()
        for limit in (*limits, *self._limits):
            if limit is not None:
                _check_spent(limit, used)
                _check_count("max_tool_calls", limit.max_tool_calls, used["tool_calls"], tool_calls)

    def add(self, used: Mapping[str, float]) -> None:
        """Count what was used, here and in every whole that this is a part of.

        Args:
            used: by name: `tool_calls`, `model_calls`, `tokens`, `cost`.
        """
        with self._lock:
            for name, count in used.items():
                if name in self._used:
                    self._used[name] += count
        if self._parent is not None:
            self._parent.add(used)

    def used(self) -> dict[str, float]:
        """What was used, by name: `tool_calls`, `model_calls`, `tokens`, `cost`, `seconds`; the first look starts the clock."""
        with self._lock:
            now = self._clock()
            self._began = now if self._began is None else self._began
            return {**self._used, "seconds": self._used["seconds"] + now - self._began}

    def restore(self, used: Mapping[str, float]) -> None:
        """Go on from what `used` once said."""
        with self._lock:
            self._used.update({name: used.get(name, 0) for name in _COUNTED})
            self._began = None

    @property
    def limits(self) -> tuple[RunLimits | None, ...]:
        """What holds for this part and for every whole that it is a part of."""
        return self._limits

    @property
    def root(self) -> "Meter":
        """The meter of the whole run."""
        return self if self._parent is None else self._parent.root

    def _take(self, what: str, limits: Sequence[RunLimits | None]) -> None:
        root = self.root
        for limit in (*limits, *self._limits):
            if limit is not None:
                used = root.used()
                _check_spent(limit, used)
                _check_count(f"max_{what}", getattr(limit, f"max_{what}"), used[what], 1)
        self.add({what: 1})


_COUNTED = ("tool_calls", "model_calls", "tokens", "cost", "seconds")
_SPENT = {"max_seconds": "seconds", "max_tokens": "tokens", "max_cost": "cost"}


def _check_spent(limit: RunLimits, used: Mapping[str, float]) -> None:
    for name, counted in _SPENT.items():
        most = getattr(limit, name)
        if most is not None and used[counted] >= most:
            raise RunLimitExceeded(f"{name} of {most} is reached: {used[counted]:g} used")


def _check_count(name: str, most: int | None, used: float, more: int) -> None:
    if most is not None and used + more > most:
        raise RunLimitExceeded(f"{name} of {most} is reached: {used:g} used, {more} more wanted")


_current: ContextVar[Meter | None] = ContextVar("agent_adapter_meter", default=None)


def current_meter() -> Meter | None:
    """The meter of the run or call that the present code is part of, None outside one."""
    return _current.get()


@contextmanager
def meter_scope(meter: Meter) -> Iterator[Meter]:
    """A scope in which everything counts on this meter; tasks and threads started inside inherit it."""
    token = _current.set(meter)
    try:
        yield meter
    finally:
        _current.reset(token)
