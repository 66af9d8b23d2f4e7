"""The tools of the ADK scenarios; each effect is written by the body itself, and has a point on either side."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from loop_points import hit
from record import Record

from agent_adapter.exec.checkpoints import idempotency_key

# How long a slow body takes; longer than a quick sibling needs to end, and to be recorded.
SLOW_S = 0.15
# Longer than a node with such a tool may take, shorter than two of its attempts.
SLUGGISH_S = 1.0


async def effect(record: Record, order: str) -> dict[str, Any]:
    """Take effect; others go on meanwhile."""
    await asyncio.sleep(0)
    done = take_effect(record, order)
    await asyncio.sleep(0)
    return done


def take_effect(record: Record, order: str) -> dict[str, Any]:
    """Take effect now: what a body returns names the one effect that it is about."""
    hit(f"body before effect {order}")
    nonce = uuid.uuid4().hex[:8]
    record.add("effects", order=order, nonce=nonce, key=idempotency_key())
    hit(f"body after effect {order}")
    return {"order": order, "nonce": nonce}


def remember(tool_context: ToolContext, done: dict[str, Any]) -> dict[str, Any]:
    """Leave a trace of the effect in the session's state."""
    tool_context.state[f"did_{done['order']}"] = done["nonce"]
    return done


def named(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """The body as a tool of this name."""
    body.__name__ = body.__qualname__ = name
    body.__doc__ = name
    return body


def charge(record: Record, name: str = "charge") -> FunctionTool:
    """A tool that takes effect."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        return remember(tool_context, await effect(record, order))

    return FunctionTool(named(name, body))


def pay(record: Record) -> FunctionTool:
    """As `charge`, a plain function."""

    def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        return remember(tool_context, take_effect(record, order))

    return FunctionTool(named("pay", body))


def slow(record: Record, name: str = "slow") -> FunctionTool:
    """As `charge`, after all its siblings have ended."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        await asyncio.sleep(SLOW_S)
        return remember(tool_context, await effect(record, order))

    return FunctionTool(named(name, body))


def sluggish(record: Record) -> FunctionTool:
    """As `charge`, and then takes longer than the node that it is in may."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        done = await effect(record, order)
        await asyncio.sleep(SLUGGISH_S)
        return remember(tool_context, done)

    return FunctionTool(named("sluggish", body))


def wire(record: Record) -> FunctionTool:
    """As `charge`; ADK itself asks before it runs."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        return remember(tool_context, await effect(record, order))

    return FunctionTool(named("wire", body), require_confirmation=True)


def ask(record: Record) -> FunctionTool:
    """A tool that asks in its own body, and then takes effect."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint=f"ask {order}", payload={"limit": 5})
            return {"status": "asked", "order": order}
        if not tool_context.tool_confirmation.confirmed:
            return {"error": f"refused {order}"}
        return remember(tool_context, await effect(record, order))

    return FunctionTool(named("ask", body))


def flaky(record: Record) -> FunctionTool:
    """A tool that takes effect, and then raises."""

    async def body(order: str) -> dict[str, Any]:
        await effect(record, order)
        raise ValueError(f"flaky {order}")

    return FunctionTool(named("flaky", body))


def render(record: Record) -> LongRunningFunctionTool:
    """A tool that takes effect, and is answered later, by somebody else."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        done = remember(tool_context, await effect(record, order))
        return {**done, "status": "pending"}

    return LongRunningFunctionTool(named("render", body))


def look(record: Record) -> FunctionTool:
    """A tool that does no harm when it runs again."""

    async def body(order: str, tool_context: ToolContext) -> dict[str, Any]:
        return remember(tool_context, await effect(record, order))

    return FunctionTool(named("look", body))
