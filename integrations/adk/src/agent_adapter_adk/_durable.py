"""DurableTools: one object with the settings, and the ways in for apps, single tools and own nodes."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from google.adk.agents.context import Context
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from agent_adapter import Tool
from agent_adapter.errors import ConfigError
from agent_adapter.exec.checkpoints import CheckpointStore, open_store
from agent_adapter.exec.integration import (
    Ledger,
    Policies,
    check_choice,
    check_seconds,
    check_types,
    delete_runs,
    prune_runs,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk import _session
from agent_adapter_adk._core import Core
from agent_adapter_adk._mend import Mends
from agent_adapter_adk._node import durable_node, step
from agent_adapter_adk._plugin import DurablePlugin
from agent_adapter_adk._run import listing, named_listing
from agent_adapter_adk._session import OpenQuestion
from agent_adapter_adk._tool import adapt
from agent_adapter_adk._values import name_of
from agent_adapter_adk._wrap import wrap


class DurableTools:
    """Durable tool calls for Google ADK: a finished call is answered from the record and never runs a second time.

    Args:
        store: a path or URL, or a checkpoint store that also has `CallClaims`.
        policies: what a tool does not say about itself, by tool name.
        checkpoint_key: seals the records; by default the environment's `AGENT_ADAPTER_CHECKPOINT_KEY`, or the
            store's own.
        types: classes, beyond those of `google.genai.types` and what a tool's return annotation reaches, that results may
            hold.
        trust_annotations: believe `readOnlyHint` and `idempotentHint` of an MCP server; `destructiveHint` always counts.
        on_error: `answer`: a tool's exception in an agent is recorded and becomes an error answer for the model; `raise`: it
            ends the run, and the call is in doubt unless its tool is idempotent or the type is in `did_not_happen`.
        on_busy: what happens when another live worker is at a call and does not finish in `claim_wait_s`: `conflict`
            stops this run, `ask` lets a person decide although it may still be at it.
        claim_wait_s: seconds for which such a worker is waited for.
        gate: ask a person before each call of a tool whose policy says `confirm`.
        allow_unsaved: calls of an app that is not resumable (and without a run name) run unprotected instead of being
            refused.
        mends: which gaps of ADK are mended; all of them.

    Raises:
        ConfigError: a setting has a value that it cannot have.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | CheckpointStore,
        *,
        policies: Mapping[str, ToolPolicy] | None = None,
        checkpoint_key: bytes | str | Sequence[bytes | str] | None = None,
        types: Sequence[type] = (),
        trust_annotations: bool = False,
        on_error: Literal["answer", "raise"] = "answer",
        on_busy: Literal["conflict", "ask"] = "conflict",
        claim_wait_s: float = 5.0,
        gate: bool = True,
        allow_unsaved: bool = False,
        mends: Mends | None = None,
    ) -> None:
        check_choice("on_error", on_error, ("answer", "raise"))
        check_choice("on_busy", on_busy, ("conflict", "ask"))
        check_seconds("claim_wait_s", claim_wait_s)
        check_types(types)
        _check_switch("trust_annotations", trust_annotations)
        _check_switch("gate", gate)
        _check_switch("allow_unsaved", allow_unsaved)
        if mends is not None and not isinstance(mends, Mends):
            raise ConfigError(f"mends is None or Mends(…), not {mends!r}")
        self._store = open_store(store)
        self._core = Core(
            Ledger(
                self._store,
                checkpoint_key=checkpoint_key,
                claim_wait_s=claim_wait_s,
                on_busy=on_busy,
            ),
            policies=Policies(
                policies or {}, framework="ADK", trust_annotations=trust_annotations, gate=gate
            ),
            types={name_of(kind): kind for kind in types},
            mends=mends or Mends(),
            on_error=on_error,
            on_busy=on_busy,
            allow_unsaved=allow_unsaved,
            claim_wait_s=claim_wait_s,
        )

    @property
    def store(self) -> CheckpointStore:
        """The store that keeps the records."""
        return self._store

    def plugin(self, name: str = "agent_adapter") -> DurablePlugin:
        """The plugin for `App(plugins=[…])`, to stand first there: it protects every tool call of the app.

        Args:
            name: unique among the app's plugins.
        """
        return DurablePlugin(self._core, name=name)

    def wrap(self, tools: Sequence[Any]) -> list[BaseTool | BaseToolset]:
        """Copies of tools, toolsets and functions that are protected without the plugin: their calls are recorded and parked.

        No more than that: no lease, no error answers, no mends; an answer reaches a call by ADK's own ways.

        Raises:
            ConfigError: a tool runs an agent or a graph, whose inside only the plugin can protect.
        """
        return [wrap(each, self._core) for each in tools]

    def tool(self, tool: Tool | Callable[..., Any]) -> BaseTool:
        """An ADK tool from a `Tool` of this package, or from a function with `@tool`; its policy comes with it."""
        return adapt(tool)

    def node(self, function: Callable[..., Awaitable[Any]] | None = None, **options: Any) -> Any:
        """A node of a graph whose calls are recorded: every executor call and every `step` of the function.

        Use it as ADK's own `@node`, plain or with its options (`name`, `retry_config`, `timeout`, …). The function is async
        and takes `ctx: Context`. When a call waits for a person, the node asks, and is run again with the answer: what
        stands outside its calls happens again.

        Raises:
            ConfigError: the function is not async or takes no context.
        """
        if function is None:
            return lambda decorated: durable_node(self._core, decorated, **options)
        return durable_node(self._core, function, **options)

    async def step(
        self, ctx: Context, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """What `function(*args, **kwargs)` returned, now or when it ran: a step of a durable node.

        A sync function runs in a thread. `policies` may say under the function's name what it may do. Equal steps of one node
        are told apart by their order. An exception fails the node, and the step is in doubt unless it is idempotent or the
        type is in `did_not_happen`.

        Raises:
            ToolUsageError: the code is not inside a durable node; nothing ran.
        """
        return await step(self._core, ctx, function, *args, **kwargs)

    def pending(self, session: Session) -> list[OpenQuestion]:
        """The questions of the session that nobody has answered, in the order asked."""
        return _session.pending(session)

    async def answer(
        self,
        runner: Runner,
        session: Session,
        answers: Mapping[str, Any],
        *,
        run_config: RunConfig | None = None,
    ) -> list[Event]:
        """The events of the run that goes on with these answers, as ADK's own interface would post them.

        Args:
            runner: the app's runner.
            session: the session that the questions are of.
            answers: by `OpenQuestion.id`: "approve", "reject", `{"type": "respond", "message": value}`, `{"type": "edit",
                "args": {…}}`, or, for a question with several inside, one of these for each request id.
            run_config: how the run goes on, as for `runner.run_async`.

        Raises:
            ToolUsageError: an id names no open question, or its answer does not plainly say what is decided; nothing was
                posted.
        """
        return await _session.answer(runner, session, answers, run_config)

    async def resume(
        self,
        runner: Runner,
        session: Session,
        *,
        invocation_id: str | None = None,
        run_config: RunConfig | None = None,
    ) -> list[Event]:
        """The events of going on with an invocation; none when it is over, or waits for an answer.

        Args:
            runner: the app's runner.
            session: the session.
            invocation_id: which invocation; the newest by default.
            run_config: how the run goes on, as for `runner.run_async`.
        """
        return await _session.resume(runner, session, invocation_id, run_config)

    async def repair(self, runner: Runner, session: Session) -> list[Event]:
        """The events that were stored so that no call of the session is without an answer.

        For when the user writes again instead of going on: ADK drops open calls from the prompt, and the model would not know
        that it charged. A finished call gets its recorded result, a call in doubt says so, and one that never began says
        that. The invocations of those calls cannot be resumed any more.
        """
        return await _session.repair(self._core, runner, session)

    async def delete_session(self, session: Session) -> int:
        """How many records of the session were deleted; call it where the session is deleted."""
        return await delete_runs(
            self._store, listing(session.app_name, session.user_id, session.id)
        )

    async def delete_run(self, app_name: str, run_name: str) -> int:
        """How many records of a named request were deleted; a request of that name then starts anew."""
        return await delete_runs(self._store, named_listing(app_name, run_name))

    async def prune(self, older_than_s: float) -> int:
        """How many runs of records were deleted: begun at least so long ago, and with finished calls only.

        Raises:
            ConfigError: `older_than_s` is not a finite number from 0 on.
        """
        check_seconds("older_than_s", older_than_s)
        return await prune_runs(self._core.ledger, self._store, older_than_s, ("adk:", "adk-run:"))


def _check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is True or False, not {value!r}")
