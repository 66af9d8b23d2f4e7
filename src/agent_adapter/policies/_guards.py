"""Guard, Deny and Replace: checks that may refuse a call, change what it is given, or withhold what it returned."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agent_adapter.calls import ToolCall
from agent_adapter.context import RunContext


@dataclass(frozen=True)
class Deny:
    """The call does not run, or its value is withheld; the model is shown the reason."""

    reason: str


@dataclass(frozen=True)
class Replace:
    """What stands from here on: a mapping of arguments before the body, a value after it."""

    value: Any


Verdict = Deny | Replace | None


class Guard(Protocol):
    """A check around a body. A subclass writes the half that it needs; at run time any object with one of the methods will do.

    Both may be async. An exception, or an answer of another kind, refuses: a guard that is broken lets nothing through.
    """

    def before(self, call: ToolCall, ctx: RunContext) -> Verdict | Awaitable[Verdict]:
        """None to let the call pass, `Deny`, or `Replace` with other arguments, which are validated again.

        `call.arguments` are the validated ones.
        """
        return None

    def after(self, call: ToolCall, value: Any, ctx: RunContext) -> Verdict | Awaitable[Verdict]:
        """None to let the value pass, `Deny` to withhold it, or `Replace` with another one."""
        return None


GuardFunction = Callable[[ToolCall, RunContext], Verdict | Awaitable[Verdict]]
"""A plain function is a guard's `before`."""

AnyGuard = Guard | GuardFunction


def is_guard(value: object) -> bool:
    """Whether this can guard: a function, or an object (no class) whose `before` or `after` can be called."""
    if isinstance(value, type):
        return False
    halves = [getattr(value, name, None) for name in ("before", "after")]
    return callable(value) or any(map(callable, halves))
