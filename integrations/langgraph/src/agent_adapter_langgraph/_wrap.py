"""Wrapped tools: protected wherever they are invoked inside a graph, in a stock ToolNode, an own node or by hand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from agent_adapter.exec.integration import CallId
from agent_adapter_langgraph._compat import child_config, injected_names, state_messages
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._identity import ToolUse
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._probe import probe
from agent_adapter_langgraph._visit import Visit

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


class _Wrapped(BaseTool):
    """The behaviour that every wrapped class puts in place of its tool's own."""

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        core, original = _standing(self)
        found = _identify(core, original, tool_input, kwargs)
        if found is None:
            return original.run(tool_input, *args, **kwargs)
        visit, use, name = found
        core.barrier.wait(visit)
        call = core.call(visit, use, name, in_sync(core.answers(visit, [name])))
        return core.drive.run(
            call, lambda running: probe(original, running).run(tool_input, *args, **kwargs)
        )

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        core, original = _standing(self)
        found = _identify(core, original, tool_input, kwargs)
        if found is None:
            return await original.arun(tool_input, *args, **kwargs)
        visit, use, name = found
        await core.barrier.await_(visit)
        call = core.call(visit, use, name, await core.answers(visit, [name]))
        return await core.drive.arun(
            call, lambda running: probe(original, running).arun(tool_input, *args, **kwargs)
        )


_classes: dict[type[BaseTool], type[BaseTool]] = {}


def wrap(tools: Sequence[Any], core: Core) -> list[BaseTool]:
    """Copies of the tools, of subclasses of their classes, that are protected wherever they are invoked."""
    return [_wrapped(each if isinstance(each, BaseTool) else as_tool(each), core) for each in tools]


def _wrapped(original: BaseTool, core: Core) -> BaseTool:
    original = getattr(original, "_agent_adapter_wrapped", original)
    core.remember([original])
    kind = type(original)
    if kind not in _classes:
        _classes[kind] = type(
            kind.__name__,
            (kind,),
            {"run": _Wrapped.run, "arun": _Wrapped.arun, "__doc__": kind.__doc__},
        )
    copy = original.model_copy()
    object.__setattr__(copy, "__class__", _classes[kind])
    object.__setattr__(copy, "_agent_adapter_core", core)
    object.__setattr__(copy, "_agent_adapter_wrapped", original)
    return copy


def _standing(tool: Any) -> tuple[Core, BaseTool]:
    return vars(tool)["_agent_adapter_core"], vars(tool)["_agent_adapter_wrapped"]


def _identify(
    core: Core, tool: BaseTool, tool_input: Any, options: dict[str, Any]
) -> tuple[Visit, ToolUse, CallId] | None:
    config: RunnableConfig = options.get("config") or child_config() or {}
    if not (config.get("configurable") or {}).get("checkpoint_ns"):
        config = child_config() or config
    visit = core.visit(config)
    hidden = injected_names(tool)
    arguments = tool_input
    if isinstance(tool_input, dict):
        arguments = {name: value for name, value in tool_input.items() if name not in hidden}
    use = ToolUse(tool, tool.name, options.get("tool_call_id"), arguments)
    if core.protection(visit, use) != "recorded":
        return None
    messages = state_messages(config) if use.model_id is not None else []
    return visit, use, core.identify(visit, use, messages)
