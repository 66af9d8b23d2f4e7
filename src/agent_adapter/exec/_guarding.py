"""Guards around a body: whatever is not a clear yes is a no."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_adapter._canonical import digest, encode
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable
from agent_adapter.exec._claimed import Claimed, escapes, settled
from agent_adapter.policies import AnyGuard, Deny, Replace


async def guard_before(claimed: Claimed) -> ToolResult | None:
    """None when the call may go on, with the arguments that the guards left; else how it ends."""
    for guard in (*claimed.policies.guards, *claimed.tool.guards):
        verdict = await _ask(claimed, guard, "before", claimed.shown)
        if isinstance(verdict, ToolResult):
            return verdict
        if isinstance(verdict, Replace):
            try:
                claimed.arguments = claimed.tool.validate(_mapping(verdict.value))
            except Exception as exc:  # what a guard gives is checked like what a model gives
                if escapes(exc):
                    raise
                return claimed.failed("invalid", exc)
    return None


async def guard_again(claimed: Claimed) -> ToolResult | None:
    """The same for arguments that a person approved: exactly these run, or none."""
    approved = claimed.arguments
    refused = await guard_before(claimed)
    if refused is not None or _same(approved, claimed.arguments):
        return refused
    return claimed.denied("a guard changes the arguments that were approved, so they do not run")


async def guard_after(claimed: Claimed, result: ToolResult) -> ToolResult:
    """The result as the guards let it out."""
    value = result.value
    for guard in (*claimed.tool.guards, *claimed.policies.guards):
        verdict = await _ask(claimed, guard, "after", claimed.shown, value)
        if isinstance(verdict, ToolResult):
            return verdict
        if isinstance(verdict, Replace):
            value = verdict.value
    return claimed.finished(value)


async def _ask(
    claimed: Claimed, guard: AnyGuard, half: str, *given: Any
) -> Replace | ToolResult | None:
    """None, a replacement, or the denial."""
    name = str(getattr(guard, "__name__", None) or type(guard).__name__)
    asked = _half_of(guard, half)
    if asked is None:
        return None
    try:
        verdict = await settled(asked(*given, claimed.ctx))
    except Exception as exc:  # the guard is foreign code: broken, it lets nothing through
        if escapes(exc):
            raise
        return claimed.denied(f"guard {name!r} failed: {type(exc).__name__}", exc)
    if isinstance(verdict, Deny):
        return claimed.denied(verdict.reason)
    if verdict is None or isinstance(verdict, Replace):
        return verdict
    return claimed.denied(
        f"guard {name!r} answered {type(verdict).__name__}, not None, Deny or Replace"
    )


def _half_of(guard: Any, half: str) -> Callable[..., Any] | None:
    """The guard's `before` or `after`; a plain function is a `before`."""
    if hasattr(guard, "before") or hasattr(guard, "after"):
        return getattr(guard, half, None)
    return guard if half == "before" else None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"Replace takes a mapping of arguments, not {type(value).__name__}")
    return value


def _same(approved: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    if approved is arguments:
        return True
    try:
        return digest(encode(dict(approved))) == digest(encode(dict(arguments)))
    except NotSealable:
        return False
