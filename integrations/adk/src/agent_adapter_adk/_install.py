"""Put a protected call in the place of a tool's `run_async`, in the very instance that ADK is about to use.

So everything around it happens as ever: other plugins, callbacks of the agent, the confirmation gate, `isinstance` checks,
thread pools and streaming. The patch finds the plugin in the context of each call, and without one runs the tool itself.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.agents.context import Context
from google.adk.tools.base_tool import BaseTool

from agent_adapter_adk._core import Core

RunAsync = Callable[..., Awaitable[Any]]
_MARK = "agent_adapter_installed"


def install(tool: BaseTool, core_of: Callable[[Context], Core | None]) -> None:
    """Patch this instance; doing it again changes nothing.

    Args:
        tool: the tool.
        core_of: the core whose plugin is in this context, None when there is none.
    """
    if vars(tool).get(_MARK) is tool or getattr(type(tool), "agent_adapter_wraps", False):
        return
    run, check = _own(tool, "run_async"), _own(tool, "check_require_confirmation")

    async def run_async(*, args: dict[str, Any], tool_context: Context) -> Any:
        core = core_of(tool_context)
        if core is None or not core.protects(tool, tool_context):
            return await run(args=args, tool_context=tool_context)
        return await core.call(
            tool,
            lambda given: run(args=given, tool_context=tool_context),
            args,
            tool_context,
            plugin=True,
        )

    async def check_require_confirmation(args: dict[str, Any], tool_context: Context) -> bool:
        needed: bool = await check(args, tool_context)
        core = core_of(tool_context)
        if needed is not True or core is None or not core.protects(tool, tool_context):
            return needed
        return not await core.has_begun(tool, args, tool_context)

    for name, patch in (
        ("run_async", run_async),
        ("check_require_confirmation", check_require_confirmation),
    ):
        patch.__dict__["agent_adapter_replaces"] = name
        setattr(tool, name, patch)
    # Toolsets copy their tools: a copy is another instance, and is patched for itself.
    setattr(tool, _MARK, tool)


def _own(tool: BaseTool, name: str) -> Any:
    """The instance's method, without a patch of ours that was copied with it."""
    found = vars(tool).get(name)
    if found is None or getattr(found, "agent_adapter_replaces", None) == name:
        return getattr(type(tool), name).__get__(tool)
    return found
