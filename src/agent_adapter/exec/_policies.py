"""Policies: what an executor applies to every call of its tools, checked once. Values."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_adapter.approvals import ApprovalPort
from agent_adapter.errors import ConfigError
from agent_adapter.exec._backoff import Backoff
from agent_adapter.limits import RunLimits
from agent_adapter.policies import AnyGuard, Cache, Hook, MemoryCache, Sink, ToolPolicy


@dataclass(frozen=True, kw_only=True)
class Policies:
    """An executor's settings, as far as they concern a single call.

    Attributes:
        approvals: how a person is asked.
        cache: where results of tools with a `cache` are kept.
        guards: before the tool's own on the way in, after them on the way out.
        hooks: told of every call that is carried out.
        retry: attempts in all, for tools that do not say.
        backoff: how long to wait between attempts.
        limits: what a run may use, beside the limits of its context.
        sinks: get the events.
        rng: chance, for the backoff.

    Raises:
        ConfigError: a setting has a value that it cannot have.
    """

    approvals: ApprovalPort | None = None
    cache: Cache = field(default_factory=MemoryCache)
    guards: Sequence[AnyGuard] = ()
    hooks: Sequence[Hook] = ()
    retry: int | None = None
    backoff: Backoff = field(default_factory=Backoff)
    limits: RunLimits | None = None
    sinks: Sequence[Sink] = ()
    rng: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        for name in ("guards", "hooks", "sinks"):
            object.__setattr__(self, name, _tuple(name, getattr(self, name)))
        ToolPolicy(guards=tuple(self.guards), retry=self.retry)
        for hook in self.hooks:
            if isinstance(hook, type) or not _has_any(hook, ("before", "after")):
                raise ConfigError(f"hooks are objects with before or after, not {hook!r}")
        for sink in self.sinks:
            if not callable(sink):
                raise ConfigError(f"sinks are functions of an event, not {sink!r}")
        if not isinstance(self.backoff, Backoff):
            raise ConfigError(f"backoff is a Backoff, not {self.backoff!r}")
        if self.limits is not None and not isinstance(self.limits, RunLimits):
            raise ConfigError(f"limits is None or RunLimits, not {self.limits!r}")
        _check_methods("cache", self.cache, ("get", "put"))
        if self.approvals is not None:
            _check_methods("approvals", self.approvals, ("request",))


def _tuple(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name} is a list or a tuple, not {value!r}")
    return tuple(value)


def _check_methods(name: str, value: object, methods: tuple[str, ...]) -> None:
    if not all(callable(getattr(value, method, None)) for method in methods):
        raise ConfigError(f"{name} is an object with {' and '.join(methods)}, not {value!r}")


def _has_any(value: object, methods: tuple[str, ...]) -> bool:
    return any(callable(getattr(value, method, None)) for method in methods)
