"""What every way in shares: from a tool and its context to a driven call."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from google.adk.agents.context import Context
from google.adk.tools.base_tool import BaseTool

from agent_adapter.errors import ConfigError
from agent_adapter.exec.integration import Ledger, Policies, Question
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk._approval import WAITS, hint_of, payload_of
from agent_adapter_adk._compat import gave_up_waiting, is_framework_tool, is_mcp_tool, mcp_hints
from agent_adapter_adk._drive import Asks, Body, Drive, Use
from agent_adapter_adk._fits import accepts
from agent_adapter_adk._identity import identify, is_node
from agent_adapter_adk._inside import orchestrates
from agent_adapter_adk._mend import Mends
from agent_adapter_adk._outcomes import NotAResult
from agent_adapter_adk._run import RUN_NAME, Run, Runs
from agent_adapter_adk._signals import Stopped, stops
from agent_adapter_adk._values import Known, known_types

logger = logging.getLogger(__name__)

OnError = Literal["answer", "raise"]
OnBusy = Literal["conflict", "ask"]


class Core:
    """Turns uses of tools into driven calls.

    Args:
        ledger: where calls are recorded.
        policies: what each tool may do.
        types: classes that results may hold, beyond those of `google.genai.types` and those that a tool declares.
        mends: which gaps of ADK are mended.
        on_error: whether a tool's exception becomes an answer for the model.
        on_busy: whether the work of a live worker may be taken up after a wait.
        allow_unsaved: whether calls that could not be found again run unprotected.
        claim_wait_s: how long another worker of whom nobody knows whether it lives is waited for.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        policies: Policies,
        types: Known,
        mends: Mends,
        on_error: OnError,
        on_busy: OnBusy,
        allow_unsaved: bool,
        claim_wait_s: float,
    ) -> None:
        self.ledger = ledger
        self.policies = policies
        self.types = types
        self.mends = mends
        self.claim_wait_s = claim_wait_s
        self.runs = Runs()
        self.drive = Drive(ledger)
        self.on_error = on_error
        self.on_busy = on_busy
        self._allow_unsaved = allow_unsaved
        self._warned: set[str] = set()

    def policy_of(self, tool: BaseTool) -> ToolPolicy:
        """The policy under which calls of this tool run: set by name, its own, or what its server says."""
        own = getattr(tool, "agent_adapter_policy", None)
        if isinstance(own, ToolPolicy) and not self.policies.names(tool.name):
            return own if self.policies.gate else replace(own, confirm=False)
        self.policies.check_name(tool.name)
        return self.policies.of(tool.name, mcp_hints(tool))

    def protects(self, tool: BaseTool, ctx: Context) -> bool:
        """Whether a call of this tool is recorded.

        Raises:
            ConfigError: nothing could find the record again.
        """
        if is_framework_tool(tool):
            return False
        run = self.runs.of(ctx)
        if run.live:
            self.warn_once("live mode is not protected: tools run there as without the plugin")
            return False
        policy = self.policy_of(tool)
        if policy.read_only and policy.confirm is False:
            return False
        return self.saved(run, tool.name)

    def saved(self, run: Run, what: str) -> bool:
        """Whether calls of this run can be found again.

        Raises:
            ConfigError: they cannot, and that was not allowed.
        """
        if run.saved:
            return True
        if self._allow_unsaved:
            return False
        raise ConfigError(
            f"{what!r} was not run: the app is not resumable, so a call could not be found again after a crash. Make it "
            "App(…, resumability_config=ResumabilityConfig(is_resumable=True)), or name the request with "
            f"RunConfig(custom_metadata={{{RUN_NAME!r}: …}}), or pass DurableTools(…, allow_unsaved=True)"
        )

    async def has_begun(
        self, tool: BaseTool, args: Mapping[str, Any], ctx: Context, *, plugin: bool
    ) -> bool:
        """Whether there is a record of the call: then it says what is to be asked, and not whether the call may begin."""
        with stops():
            call = identify(self.runs.of(ctx), ctx, tool.name, args, unique=plugin)
            return await self.ledger.log.find(call.run, call.key) is not None

    async def call(
        self,
        tool: BaseTool,
        body: Body,
        args: dict[str, Any],
        ctx: Context,
        *,
        plugin: bool,
        confirm: bool = False,
    ) -> Any:
        """The result of a protected call; see `Drive.call`.

        Args:
            tool: the tool.
            body: runs it.
            args: its arguments.
            ctx: its context.
            plugin: whether the plugin stands around the call, so that what is inside passes it too.
            confirm: whether a person is asked first, whatever the policy says.
        """
        run = self.runs.of(ctx)
        policy = self.policy_of(tool)
        with stops():
            call = identify(run, ctx, tool.name, args, unique=plugin)
        answers = plugin and self.on_error == "answer" and not is_node(ctx)
        use = Use(
            id=call,
            run=run,
            ctx=ctx,
            arguments=args,
            policy=replace(policy, confirm=True) if confirm else policy,
            known=known_types(tool, self.types),
            orchestrates=plugin and orchestrates(tool),
            answers_errors=answers,
            fits=lambda arguments: accepts(tool, arguments),
            kept=lambda result: _check(tool, result),
            asks=lambda: _asks(run, ctx),
            ask=lambda questions, note: _ask(run, ctx, questions, note),
        )
        try:
            return await self.drive.call(use, body)
        except Stopped:
            await run.stop()
            raise
        finally:
            run.mark_long_running(ctx.function_call_id, ctx.session)

    def answers_errors(self, tool: BaseTool, ctx: Context) -> bool:
        """Whether an exception of this call becomes an answer for the model."""
        return self.on_error == "answer" and self.protects(tool, ctx)

    def warn_once(self, text: str) -> None:
        """Say something that is said once."""
        if text not in self._warned:
            self._warned.add(text)
            logger.warning(text)


def _check(tool: BaseTool, result: Any) -> None:
    """Nothing, for a result.

    Raises:
        NotAResult: the value says only that something went wrong on the way, or that something inside waits.
    """
    if (
        is_mcp_tool(tool)
        and isinstance(result, dict)
        and "error" in result
        and "content" not in result
    ):
        raise NotAResult(str(result["error"]), ambiguous=True)
    if gave_up_waiting(tool, result):
        raise NotAResult(str(result), ambiguous=False)


def _asks(run: Run, ctx: Context) -> Asks | None:
    """What the body of the call asked by itself."""
    actions, name = ctx.actions, ctx.function_call_id
    if name in actions.requested_tool_confirmations:
        asked = actions.requested_tool_confirmations[name]
        plain = {"hint": asked.hint, "payload": asked.payload}
        return Asks(unheard=None if run.outer is None else plain)
    return Asks(unheard=None) if name in actions.requested_auth_configs else None


def _ask(run: Run, ctx: Context, questions: list[Question], note: str) -> dict[str, Any]:
    """Make ADK ask; in a runner of its own, so does the call around it. Gives the call's placeholder."""
    if run.outer is not None:
        run.outer.asked.extend(questions)
    ctx.request_confirmation(hint=hint_of(questions), payload=payload_of(questions, note))
    if not is_node(ctx):
        # A model has nothing to say about a call that waits.
        ctx.actions.skip_summarization = True
    # Not empty: a long-running call without a response would lose its question. With "error", as ADK's own placeholders: the
    # result of an agent that is not summarized would be said aloud, and ADK takes words for the end of the turn.
    return {"status": "pending", "error": WAITS}
