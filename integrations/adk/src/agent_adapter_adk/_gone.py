"""Calls of tools that a deploy took away: answered from the record, or refused while their outcome is unknown."""

from typing import Any

from google.adk.agents.context import Context
from google.adk.tools.base_tool import BaseTool

from agent_adapter.errors import ConfigError
from agent_adapter_adk._core import Core
from agent_adapter_adk._run import Run
from agent_adapter_adk._signals import Stopped, stops
from agent_adapter_adk._truth import IN_DOUBT, NEVER, UNRECORDED, answer_of


async def recorded_answer(
    core: Core, run: Run, tool: BaseTool, ctx: Context
) -> dict[str, Any] | None:
    """The recorded result of the call; None when it never began, so that ADK says that there is no such tool.

    Raises:
        Stopped: the call began and has no result.
    """
    with stops():
        answer = await answer_of(core, run, ctx.function_call_id or "", tool.name)
    if answer.get("error") in (NEVER, UNRECORDED):
        return None
    if answer == {"error": IN_DOUBT}:
        error = ConfigError(
            f"there is no tool {tool.name!r} any more, and its call {ctx.function_call_id} began and has no result: bring the "
            "tool back, or answer the call yourself"
        )
        raise Stopped(str(error)) from error
    return answer
