"""The plugin: ADK's callbacks, each handed to the room that it belongs to."""

import asyncio
import logging
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.context import Context
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agent_adapter_adk._aborts import tell_truth
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import calls_in
from agent_adapter_adk._gone import recorded_answer
from agent_adapter_adk._handover import note_handover, withhold
from agent_adapter_adk._identity import is_node
from agent_adapter_adk._install import install
from agent_adapter_adk._mend import ASKED_BY_MODEL, HELD, is_early_exit, mark
from agent_adapter_adk._prompt import last_words, note_start, show_own_calls
from agent_adapter_adk._replies import Replies, make_ids_unique
from agent_adapter_adk._resuming import Resuming
from agent_adapter_adk._run import Run
from agent_adapter_adk._signals import stops

logger = logging.getLogger(__name__)

DRAIN_S = 4.0


class DurablePlugin(BasePlugin):
    """Makes every tool call of an app durable; made by `DurableTools.plugin()`. Put it first."""

    def __init__(self, core: Core, *, name: str = "agent_adapter") -> None:
        super().__init__(name=name)
        self.core = core
        self._resuming = Resuming(core)
        self._replies = Replies(core.ledger)

    def _run(self, ctx: Context | InvocationContext) -> Run:
        return self.core.runs.of(ctx)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Refuse what cannot be read or is somebody else's turn, before ADK stores anything."""
        run = self._run(invocation_context)
        if run.outer is None and not run.live:
            await self._resuming.arrive(run, invocation_context, user_message)
        return None

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Show ADK where the invocation stands; end the run at once while one of its questions is open."""
        run = self._run(invocation_context)
        if run.live or await self._resuming.begin(run, invocation_context):
            return None
        run.held = True
        return types.Content(role="model", parts=[])

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Mark what is to be known again later; put the truth in the place of answers that ADK makes up for an aborted run."""
        run = self._run(invocation_context)
        if run.held and is_early_exit(event):
            mark(event, HELD)
        elif event.long_running_tool_ids and event.author in run.models and calls_in(event):
            mark(event, ASKED_BY_MODEL)
        withhold(run, event)
        with stops():
            await tell_truth(self.core, run, event)
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """The run is over: others may go on with the invocation."""
        await self._release(invocation_context)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """As after a run that did not fail."""
        del error
        await self._release(invocation_context)

    async def _release(self, ic: InvocationContext) -> None:
        run = self._run(ic)
        if run.outer is None:
            await run.stop()

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: Context
    ) -> types.Content | None:
        """Note whether the agent has to be shown what it did before; warn of a setting that changes its meaning."""
        note_start(self._run(callback_context), callback_context)
        if agent.retry_config is not None and self.core.on_error == "answer":
            self.core.warn_once(
                f"agent {agent.name!r} has a retry_config, which tools' exceptions do not reach: they become answers for the "
                'model. DurableTools(…, on_error="raise") lets them through'
            )
        return None

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """The model's own last words or recorded reply where it is asked once more; its own calls where it forgot them."""
        run = self._run(callback_context)
        if self.core.mends.ended and (ended := last_words(run, callback_context)) is not None:
            return ended
        with stops():
            recorded = await self._replies.recorded(run, callback_context)
        if recorded is not None:
            return recorded
        if self.core.mends.prompt and show_own_calls(run, callback_context, llm_request):
            self.core.warn_once("an agent was started again by ADK and was shown its earlier calls")
        return None

    async def after_model_callback(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Unique ids for the reply's calls; where calls are found by their reply, the first reply counts."""
        if llm_response.partial:
            return None
        run = self._run(callback_context)
        run.models.add(callback_context.agent_name)
        make_ids_unique(run, callback_context, llm_response)
        with stops():
            return await self._replies.keep(run, callback_context, llm_response)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Put the protected call in the place of the tool's own; answer for tools that are gone."""
        if type(tool) is BaseTool:
            return await recorded_answer(self.core, self._run(tool_context), tool, tool_context)
        if self.core.protects(tool, tool_context):
            install(tool, self.core, tool_context)
            if tool_context.tool_confirmation is None:
                # ADK's replay of a call does not give it the answer to ADK's own question.
                said = self._run(tool_context).confirmations.get(
                    tool_context.function_call_id or ""
                )
                tool_context.tool_confirmation = said
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: Context,
        result: dict[str, Any],
    ) -> None:
        """No agent hands over while another call of its turn waits."""
        run = self._run(tool_context)
        if self.core.mends.handover and run.saved and not run.live and not is_node(tool_context):
            note_handover(run, tool_context)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> dict[str, Any] | None:
        """An answer for the model, where nobody behind this plugin has one."""
        # ADK tells of a cancelled call in the same way, for cleaning up.
        cancelled = isinstance(error, asyncio.CancelledError)
        if cancelled or is_node(tool_context):
            return None
        if not self.core.answers_errors(tool, tool_context):
            return None
        found = await _others(self, tool, tool_args, tool_context, error)
        return {"error": f"{type(error).__name__}: {error}"} if found is None else found

    async def close(self) -> None:
        """Wait a little for bodies that go on although their run has ended."""
        await self.core.drive.drain(DRAIN_S)


async def _others(
    plugin: DurablePlugin,
    tool: BaseTool,
    tool_args: dict[str, Any],
    ctx: Context,
    error: Exception,
) -> dict[str, Any] | None:
    """The answer of the plugins behind this one, or of the agent's own callbacks."""
    ic = ctx.get_invocation_context()
    plugins = ic.plugin_manager.plugins
    for other in plugins[plugins.index(plugin) + 1 :]:
        answer = await other.on_tool_error_callback(
            tool=tool, tool_args=tool_args, tool_context=ctx, error=error
        )
        if answer is not None:
            return answer
    for callback in getattr(ic.agent, "canonical_on_tool_error_callbacks", ()):
        said: Any = callback(tool=tool, args=tool_args, tool_context=ctx, error=error)
        said = await said if hasattr(said, "__await__") else said
        if said is not None:
            return dict(said)
    return None
