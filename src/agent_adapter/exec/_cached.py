"""The result cache of tools that have one: found and kept by tool, arguments, user and tenant."""

import inspect
import logging
from typing import Any

from agent_adapter._canonical import decode, digest, encode, reachable_types
from agent_adapter.calls import ToolResult
from agent_adapter.errors import NotSealable
from agent_adapter.exec._claimed import Claimed, escapes
from agent_adapter.tools import Tool

_log = logging.getLogger("agent_adapter")


def cache_key(claimed: Claimed) -> str | None:
    """The key for the arguments that stand now; None for a tool without a cache, and where they have no exact form."""
    if claimed.tool.cache is None:
        return None
    who = (claimed.ctx.user, claimed.ctx.tenant)
    try:
        return digest(encode([_identity(claimed.tool), dict(claimed.arguments), *who]))
    except NotSealable:
        return None


def _identity(tool: Tool) -> list[str]:
    """What tells a tool from another one of its name; equal in every process where the code says it all."""
    fn = tool.fn
    code = f"{getattr(fn, '__module__', '')}:{getattr(fn, '__qualname__', '')}"
    if "<" not in code and inspect.isfunction(fn):
        return [tool.name, code]
    # Functions made in functions, and objects, hold what nobody can see.
    return [tool.name, code, tool.token]


async def find_cached(claimed: Claimed, key: str) -> ToolResult | None:
    """The result that an equal call left here not long ago, else None."""
    known = reachable_types(claimed.tool.returns)
    try:
        entry = await claimed.policies.cache.get(key)
        if entry is None:
            return None
        value = decode(entry["value"], known=known)
    except Exception as exc:  # without its cache a call just runs
        if escapes(exc):
            raise
        _log.exception("the cache gave nothing for tool %r", claimed.tool.name)
        return None
    return ToolResult(call_id=claimed.call.id, tool=claimed.tool.name, value=value, cached=True)


async def keep_cached(claimed: Claimed, key: str, result: ToolResult) -> None:
    """Keep a successful result, where its value can be rebuilt from what the tool declares."""
    if (entry := _entry(claimed, result)) is None:
        return
    try:
        await claimed.policies.cache.put(key, entry, claimed.tool.cache or 0.0)
    except Exception as exc:  # without its cache a call just runs
        if escapes(exc):
            raise
        _log.exception("the cache did not keep a result of tool %r", claimed.tool.name)


def _entry(claimed: Claimed, result: ToolResult) -> Any:
    try:
        value = encode(result.value)
        decode(value, known=reachable_types(claimed.tool.returns))
    except NotSealable:
        return None
    return {"value": value}
