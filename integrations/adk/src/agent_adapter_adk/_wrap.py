"""Tools, toolsets and functions that are protected by themselves, where no plugin can be added to the app."""

import copy
import inspect
from typing import Any

from google.adk.agents.context import Context
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool

from agent_adapter.errors import ConfigError
from agent_adapter_adk._compat import node_of
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import exchanges
from agent_adapter_adk._resuming import decide

_classes: dict[type, type] = {}


class _Wrapped:
    """What every class of wrapped tools does before its tool's own."""

    agent_adapter_wraps = True

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        tool: Any = self
        core: Core = tool.agent_adapter_core
        run = super().run_async  # type: ignore[misc]  # the tool's own class comes next
        if not core.protects(tool, tool_context):
            return await run(args=args, tool_context=tool_context)
        # Where there is a plugin, it has read the answers, and hides them from ADK.
        current = core.runs.of(tool_context)
        asked = exchanges(tool_context.session.events, tool_context.invocation_id)
        current.decisions = {**decide(asked), **current.decisions}
        return await core.call(
            tool,
            lambda given: run(args=given, tool_context=tool_context),
            args,
            tool_context,
            plugin=False,
        )

    async def check_require_confirmation(self, args: dict[str, Any], tool_context: Context) -> bool:
        tool: Any = self
        core: Core = tool.agent_adapter_core
        needed = await super().check_require_confirmation(args, tool_context)  # type: ignore[misc]  # see above
        if needed is not True or not core.protects(tool, tool_context):
            return bool(needed)
        return not await core.has_begun(tool, args, tool_context, plugin=False)


def wrap(tool: Any, core: Core) -> BaseTool | BaseToolset:
    """A copy that is protected.

    Raises:
        ConfigError: it runs an agent or a graph, or is nothing that ADK takes for a tool.
    """
    if isinstance(tool, BaseToolset):
        return _wrapped_toolset(tool, core)
    if not isinstance(tool, BaseTool):
        if not callable(tool) or inspect.isclass(tool):
            raise ConfigError(f"{tool!r} is no tool, toolset or function")
        tool = FunctionTool(tool)
    if isinstance(tool, AgentTool) or node_of(tool) is not None:
        raise ConfigError(
            f"{tool.name!r} runs an agent or a graph, and what runs inside would not be protected: use durable.plugin()"
        )
    if isinstance(tool, _Wrapped):
        return tool  # type: ignore[return-value]  # it is a tool too
    wrapped = _copied(tool, _Wrapped)
    wrapped.agent_adapter_core = core
    return wrapped  # type: ignore[no-any-return]  # of a class below the tool's own


def _copied(original: Any, mixin: type) -> Any:
    """A copy of the object, of a class below its own, so that every `isinstance` holds."""
    kind = type(original)
    if kind not in _classes:
        _classes[kind] = type(f"Durable{kind.__name__}", (mixin, kind), {"__doc__": kind.__doc__})
    # Made anew: Python refuses to give the copy another class, since the first base is the mixin.
    made: Any = object.__new__(_classes[kind])
    vars(made).update(vars(copy.copy(original)))
    return made


class _WrappedToolset:
    """A toolset whose tools are protected, however often they are listed."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        toolset: Any = self
        tools = await super().get_tools(readonly_context)  # type: ignore[misc]  # the toolset's own class comes next
        return [_tool(each, toolset.agent_adapter_core) for each in tools]


def _tool(tool: BaseTool, core: Core) -> BaseTool:
    found: Any = wrap(tool, core)
    return found  # type: ignore[no-any-return]  # a tool gives a tool


def _wrapped_toolset(toolset: BaseToolset, core: Core) -> BaseToolset:
    made = _copied(toolset, _WrappedToolset)
    made.agent_adapter_core = core
    return made  # type: ignore[no-any-return]  # of a class below the toolset's own
