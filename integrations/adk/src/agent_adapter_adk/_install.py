"""Put a protected call in the place of a tool's `run_async`, in the very instance that ADK is about to use.

So everything around it happens as ever: other plugins, callbacks of the agent, the confirmation gate, `isinstance` checks,
thread pools and streaming. The patch runs the tool itself for calls that no plugin announced.
"""

from contextvars import ContextVar
from typing import Any

from google.adk.agents.context import Context
from google.adk.tools.base_tool import BaseTool

from agent_adapter_adk._core import Core

_MARK = "agent_adapter_installed"


# Which call ADK is about to make, and whose plugin protects it: callbacks and tool share one task.
_next: ContextVar[tuple[Core, Context] | None] = ContextVar("agent_adapter_adk_next", default=None)


def install(tool: BaseTool, core: Core, ctx: Context) -> None:
    """Protect the call that ADK is about to make with this context; the instance is patched once.

    Args:
        tool: the tool.
        core: the core that protects it.
        ctx: the call's context.
    """
    _next.set((core, ctx))
    if vars(tool).get(_MARK) is tool or getattr(type(tool), "agent_adapter_wraps", False):
        return
    run, check = _own(tool, "run_async"), _own(tool, "check_require_confirmation")

    async def run_async(*, args: dict[str, Any], tool_context: Context) -> Any:
        core = _core_for(tool_context)
        if core is None:
            return await run(args=args, tool_context=tool_context)
        nested = core.runs.of(tool_context).outer is not None
        return await core.call(
            tool,
            lambda given: run(args=given, tool_context=tool_context),
            args,
            tool_context,
            plugin=True,
            confirm=nested and await check(args, tool_context) is True,
        )

    async def check_require_confirmation(args: dict[str, Any], tool_context: Context) -> bool:
        needed: bool = await check(args, tool_context)
        core = _core_for(tool_context)
        if needed is not True or core is None:
            return needed
        if core.runs.of(tool_context).outer is not None:
            # Nobody hears ADK's own question in there: ours takes its place, and the call around it asks.
            return False
        return not await core.has_begun(tool, args, tool_context, plugin=True)

    for name, patch in (
        ("run_async", run_async),
        ("check_require_confirmation", check_require_confirmation),
    ):
        patch.__dict__["agent_adapter_replaces"] = name
        setattr(tool, name, patch)
    # Toolsets copy their tools: a copy is another instance, and is patched for itself.
    setattr(tool, _MARK, tool)


def _core_for(ctx: Context) -> Core | None:
    """The core that protects the call of this context, None when no plugin announced it."""
    announced = _next.get()
    return announced[0] if announced is not None and announced[1] is ctx else None


def _own(tool: BaseTool, name: str) -> Any:
    """The instance's method, without a patch of ours that was copied with it."""
    found = vars(tool).get(name)
    if found is None or getattr(found, "agent_adapter_replaces", None) == name:
        return getattr(type(tool), name).__get__(tool)
    return found
