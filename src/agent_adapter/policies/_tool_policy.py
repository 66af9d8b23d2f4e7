"""ToolPolicy: everything about a tool but its name, its schema and its function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_adapter._seconds import is_seconds
from agent_adapter.context import RunContext
from agent_adapter.errors import ConfigError
from agent_adapter.policies._guards import AnyGuard, is_guard

Confirm = Callable[[Mapping[str, Any], RunContext], bool | Awaitable[bool]]
Reconcile = Callable[[Mapping[str, Any], str | None], object | Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class ToolPolicy:
    """How a tool may be run. The default is the careful one: not idempotent, asks nobody, never retried.

    Attributes:
        idempotent: running a call again does no harm, so a call in doubt is simply run again.
        read_only: the tool has no effects at all.
        reconcile: `(arguments, idempotency_key)` asks the outside system what became of a call in doubt.
        did_not_happen: exception types that prove that the effect did not take place.
        confirm: a person approves each call first; or a function of `(arguments, ctx)` that says whether.
        timeout: seconds until a call is given up, None for the executor's own.
        retry: attempts in all, None for the executor's own.
        cache: seconds for which a result answers equal calls, None for never. Only a tool that is idempotent or read
            only may have one.
        guards: checks around the body of this tool: `Guard` objects, or functions of `(call, ctx)` for before it.
        tags: words by which programs recognise the tool.

    Raises:
        ConfigError: a field has a value that it cannot have.
    """

    idempotent: bool = False
    read_only: bool = False
    reconcile: Reconcile | None = None
    did_not_happen: tuple[type[BaseException], ...] = ()
    confirm: bool | Confirm = False
    timeout: float | None = None
    retry: int | None = None
    cache: float | None = None
    guards: tuple[AnyGuard, ...] = ()
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("idempotent", "read_only"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is True or False, not {getattr(self, name)!r}")
        if not isinstance(self.confirm, bool) and not callable(self.confirm):
            raise ConfigError(f"confirm is True, False or a function, not {self.confirm!r}")
        if self.reconcile is not None and not callable(self.reconcile):
            raise ConfigError(
                f"reconcile is a function of (arguments, idempotency_key), not {self.reconcile!r}"
            )
        _check_tuple("did_not_happen", self.did_not_happen, "exception classes", _is_exception_type)
        _check_tuple("guards", self.guards, "guards and functions", is_guard)
        _check_tuple("tags", self.tags, "strings", lambda tag: isinstance(tag, str))
        for name in ("timeout", "cache"):
            if not is_seconds(getattr(self, name)):
                raise ConfigError(
                    f"{name} is None or a positive number of seconds, not {getattr(self, name)!r}"
                )
        if self.cache is not None and not (self.idempotent or self.read_only):
            raise ConfigError(
                "cache answers equal calls with one result, but equal calls are two wishes: only a tool that is "
                "idempotent or read_only may set it"
            )
        if self.retry is not None and (type(self.retry) is not int or self.retry < 1):
            raise ConfigError(f"retry is None or a number of attempts from 1, not {self.retry!r}")


def _is_exception_type(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _check_tuple(name: str, value: object, what: str, fits: Callable[[object], bool]) -> None:
    if not isinstance(value, tuple) or not all(fits(item) for item in value):
        raise ConfigError(f"{name} is a tuple of {what}, not {value!r}")
