"""The default executor of the process: made on first use from what `configure` said, and the short ways to use it."""

import os
import random
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from agent_adapter._default_key import set_process_key_ring
from agent_adapter._sealing import KeyRing
from agent_adapter.approvals import ApprovalPort
from agent_adapter.context import RunContext
from agent_adapter.errors import ConfigError, ToolUsageError
from agent_adapter.exec._backoff import Backoff
from agent_adapter.exec._executor import Executor
from agent_adapter.limits import RunLimits
from agent_adapter.policies import AnyGuard, Cache, Hook, Sink
from agent_adapter.registry import Registry
from agent_adapter.tools import Tool


class _ExecutorSettings(TypedDict, total=False):
    registry: Registry | None
    approvals: ApprovalPort | None
    cache: Cache | None
    guards: Sequence[AnyGuard]
    hooks: Sequence[Hook]
    retry: int | None
    backoff: Backoff
    timeout: float | None
    concurrency: int
    limits: RunLimits | None
    sinks: Sequence[Sink]
    rng: random.Random | None


class _Settings(_ExecutorSettings, total=False):
    checkpoint_key: bytes | str | Sequence[bytes | str] | None


class _Defaults:
    """What the process has: the executor once it is made, and what the next one is made from."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: Executor | None = None
        self.settings: _ExecutorSettings = {}
        self.registry = Registry()

    def make(self, settings: _ExecutorSettings) -> Executor:
        """An executor with these settings.

        Raises:
            ConfigError: a setting has a value that it cannot have.
        """
        complete = settings.copy()
        complete["registry"] = self.registry_of(settings)
        return Executor(**complete)

    def registry_of(self, settings: _ExecutorSettings) -> Registry:
        """The registry that these settings name, else the process's own."""
        registry = settings.get("registry")
        return self.registry if registry is None else registry


_defaults = _Defaults()


def default_executor() -> Executor:
    """The process's executor, made on first use from what `configure` said; every thread gets the same one."""
    with _defaults.lock:
        if _defaults.executor is None:
            _defaults.executor = _defaults.make(_defaults.settings)
        return _defaults.executor


def set_default_executor(executor: Executor) -> None:
    """Make this the process's executor; what the one before has begun goes on.

    Raises:
        ToolUsageError: this is no `Executor`.
    """
    if not isinstance(executor, Executor):
        raise ToolUsageError(
            f"{executor!r} is no Executor; reset_default_executor() drops the present one"
        )
    with _defaults.lock:
        _defaults.executor = executor


def reset_default_executor() -> None:
    """Drop the process's executor and the sinks that `configure` named; the next use makes a fresh one.

    The other settings, the key of stored runs and the tools of the process's own registry stay.
    """
    with _defaults.lock:
        _defaults.executor = None
        _defaults.settings.pop("sinks", None)


def runner_for(executor: Executor | None) -> Executor:
    """This executor, or the process's own when it is None."""
    return default_executor() if executor is None else executor


def default_registry() -> Registry:
    """The registry in which the process's executor looks tools up; asking for it does not make the executor.

    `default_registry().add(tool)` makes a tool known to `call` and `acall` by its name.
    """
    with _defaults.lock:
        if _defaults.executor is not None:
            return _defaults.executor.registry
        return _defaults.registry_of(_defaults.settings)


def configure(**settings: Unpack[_Settings]) -> None:
    """Settings of the next default executor, each as `Executor` takes it, beside those configured before.

    The present one, if it is made already, stays as it is until `reset_default_executor`. `checkpoint_key` is for
    every stored run of which no key is given, from now on; None leaves it to the environment or the store again.

    Raises:
        ConfigError: there is no such setting, or it has a value that it cannot have; nothing has changed.
    """
    if unknown := sorted(settings.keys() - _Settings.__annotations__.keys()):
        raise ConfigError(
            f"no such settings: {', '.join(unknown)}; there are {', '.join(_Settings.__annotations__)}"
        )
    given: Mapping[str, Any] = settings
    registry, key = given.get("registry"), given.get("checkpoint_key")
    if registry is not None and not isinstance(registry, Registry):
        raise ConfigError(f"registry is None or a Registry, not {registry!r}")
    ring = None if key is None else KeyRing(key)
    with _defaults.lock:
        merged: _ExecutorSettings = {**_defaults.settings, **_without_key(settings)}
        # Made once for nothing: what it refuses is refused here, not at some first use elsewhere.
        _defaults.make(merged)
        _defaults.settings = merged
        if "checkpoint_key" in settings:
            set_process_key_ring(ring)


def call(
    tool: str | Tool,
    args: Mapping[str, Any] | None = None,
    ctx: RunContext | None = None,
    *,
    call_id: str | None = None,
    timeout: float | None = None,
) -> Any:
    """The tool's value, from the process's executor, for callers without an event loop.

    Raises:
        TimeoutError: `timeout` seconds passed.
        Exception: whatever `Executor.run_sync` raises.
    """
    return default_executor().run_sync(tool, args, ctx, call_id=call_id, timeout=timeout)


async def acall(
    tool: str | Tool,
    args: Mapping[str, Any] | None = None,
    ctx: RunContext | None = None,
    *,
    call_id: str | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `Executor.run`
) -> Any:
    """The tool's value, from the process's executor.

    Raises:
        ToolTimeout: `timeout` seconds passed.
        Exception: whatever `Executor.run` raises.
    """
    return await default_executor().run(tool, args, ctx, call_id=call_id, timeout=timeout)


def _without_key(settings: _Settings) -> _ExecutorSettings:
    rest = settings.copy()
    rest.pop("checkpoint_key", None)
    return rest


def _reset_after_fork() -> None:
    # Another thread of the parent may have held it, and that thread is not here.
    _defaults.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
