"""An ADK tool from a tool of this package: its schema for the model, its validation, and its policy for the plugin."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from google.adk.agents.context import Context
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agent_adapter import Executor, RunContext, Tool
from agent_adapter import tool as make_tool
from agent_adapter.errors import ToolArgumentsInvalid, ToolFailed
from agent_adapter.policies import ToolPolicy


class AdaptedTool(BaseTool):
    """Runs a `Tool` of this package as a tool of ADK; made by `DurableTools.tool`.

    Attributes:
        agent_adapter_policy: what the plugin knows the tool by.
    """

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self.func = tool.fn
        self.agent_adapter_policy = ToolPolicy(
            idempotent=tool.idempotent,
            read_only=tool.read_only,
            reconcile=tool.reconcile,
            did_not_happen=tool.did_not_happen,
            confirm=tool.confirm,
            tags=tool.tags,
        )
        self._tool = tool
        # The plugin asks; guards, retries and timeouts are the executor's.
        self._ungated = replace(tool, confirm=False)
        self._executor = Executor()

    def _get_declaration(self) -> types.FunctionDeclaration:
        spec = self._tool.spec
        return types.FunctionDeclaration(
            name=spec.name, description=spec.description, parameters_json_schema=spec.parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """The tool's value; an error answer for arguments that do not fit; whatever the tool raises."""
        ctx = RunContext(run_id=tool_context.invocation_id, user=tool_context.user_id)
        try:
            return await self._executor.run(self._ungated, args, ctx)
        except ToolArgumentsInvalid as refused:
            return {"error": str(refused)}
        except ToolFailed as failed:
            if isinstance(failed.__cause__, Exception):
                # The plugin knows the tool's own exceptions, by `did_not_happen` for example.
                raise failed.__cause__ from None
            raise


def adapt(tool: Tool | Callable[..., Any]) -> AdaptedTool:
    """The tool for ADK.

    Raises:
        ToolUsageError: the function's name or signature cannot be used.
    """
    return AdaptedTool(tool if isinstance(tool, Tool) else make_tool(tool))
