"""DurableTools: one object with the settings, and the ways in for agents, graphs, own nodes and single tools."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langchain_core.tools import BaseTool

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
from agent_adapter_langgraph import _repair
from agent_adapter_langgraph._barrier import Barrier
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._messages import name_of
from agent_adapter_langgraph._node import durable_node
from agent_adapter_langgraph._replies import Replies
from agent_adapter_langgraph._tool_node import DurableToolNode
from agent_adapter_langgraph._turn import durable_turn
from agent_adapter_langgraph._visit import listing, named_listing
from agent_adapter_langgraph._wrap import wrap

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware

F = TypeVar("F", bound=Callable[..., Any])


class DurableTools:
    """Durable tool calls for LangGraph: a finished call is answered from the record and never runs a second time.

    Args:
        store: a path or URL, or a checkpoint store that also has `CallClaims`.
        policies: what a tool does not say about itself, by tool name.
        checkpoint_key: seals the records; by default the environment's `AGENT_ADAPTER_CHECKPOINT_KEY`, or the
            store's own.
        types: classes, beyond messages and what a tool's return annotation reaches, that results may hold.
        trust_annotations: believe `readOnlyHint` and `idempotentHint` in a tool's metadata; `destructiveHint`
            always counts.
        on_fork: what a finished call means on another branch of its thread: `replay` it, `rerun` it there, or
            `ask`. An edited state and `get_state().config` make branches too.
        on_busy: what happens when another live worker is at a call and does not finish in `claim_wait_s`:
            `conflict` raises `CheckpointConflict`, `ask` lets a person decide although it may still be at it.
        claim_wait_s: seconds for which such a worker is waited for.
        barrier_s: seconds for which the checkpointer may take to store the checkpoint that a call stands on.
        model_replies: keep the model's reply of each turn; without it two workers that answer one pause may
            double the next turn.
        streaming: `drop` sends nothing for replayed calls, `mark` sends one custom event each.
        gate: ask a person before each call of a tool whose policy says `confirm`; False where something else asks already
            (`HumanInTheLoopMiddleware`, for example).
        allow_unsaved: calls in a graph without a checkpointer (and without a run name) run unprotected instead
            of being refused.

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
        on_fork: Literal["replay", "rerun", "ask"] = "replay",
        on_busy: Literal["conflict", "ask"] = "conflict",
        claim_wait_s: float = 5.0,
        barrier_s: float = 3.0,
        model_replies: bool = True,
        streaming: Literal["drop", "mark"] = "drop",
        gate: bool = True,
        allow_unsaved: bool = False,
    ) -> None:
        check_choice("on_fork", on_fork, ("replay", "rerun", "ask"))
        check_choice("on_busy", on_busy, ("conflict", "ask"))
        check_choice("streaming", streaming, ("drop", "mark"))
        check_seconds("claim_wait_s", claim_wait_s)
        check_seconds("barrier_s", barrier_s)
        check_types(types)
        self._store = open_store(store)
        self._core = Core(
            Ledger(
                self._store,
                checkpoint_key=checkpoint_key,
                claim_wait_s=claim_wait_s,
                on_busy=on_busy,
            ),
            barrier=Barrier(wait_s=barrier_s, allow_unsaved=allow_unsaved),
            policies=Policies(
                policies or {},
                framework="LangGraph",
                trust_annotations=trust_annotations,
                gate=gate,
            ),
            types={name_of(kind): kind for kind in types},
            on_fork=on_fork,
            streaming=streaming,
        )
        self._replies = Replies(self._core, keep=model_replies)

    @property
    def store(self) -> CheckpointStore:
        """The store that keeps the records."""
        return self._store

    def tool_node(self, tools: Sequence[Any], **options: Any) -> DurableToolNode:
        """A `ToolNode(tools, **options)` whose calls are protected."""
        return DurableToolNode(tools, core=self._core, **options)

    def middleware(
        self, *inside: "AgentMiddleware[Any, Any, Any]", repair: bool = False
    ) -> "list[AgentMiddleware[Any, Any, Any]]":
        """The middleware list for `create_agent`: ours outermost and innermost, `inside` between them.

        `middleware=durable.middleware(HumanInTheLoopMiddleware(…), …)`, or `[*durable.middleware(), …]`.

        Args:
            inside: other middleware; a finished call does not pass through it again.
            repair: show the model an honest answer for every call that a stopped run left without one.

        Raises:
            ConfigError: langchain is not installed, or other middleware asks about a tool that a policy asks about too.
        """
        try:
            from agent_adapter_langgraph._middleware import parts
        except ImportError as error:
            raise ConfigError(
                "middleware needs langchain: pip install 'agent-adapter-langgraph[agents]'"
            ) from error
        for other in inside:
            both = self._core.policies.asking & _asked_by(other)
            if both:
                raise ConfigError(
                    f"{type(other).__name__} and the policies both ask about {', '.join(sorted(both))}: "
                    "pass gate=False, or leave them out of its interrupt_on"
                )
        outermost, innermost = parts(self._core, self._replies, repairs=repair)
        return [*outermost, *inside, *innermost]

    def turn(self, function: F) -> F:
        """The model node of a graph: the reply of each turn is kept, and the first one counts for every worker."""
        return durable_turn(function, self._replies)

    def wrap(self, tools: Sequence[Any]) -> list[BaseTool]:
        """Copies of the tools that are protected wherever they are invoked inside a graph."""
        return wrap(tools, self._core)

    def node(self, function: F) -> F:
        """An own node: every executor call and every wrapped tool inside it is protected."""
        return durable_node(function, self._core)

    async def arepair(self, state: Any, thread_id: str) -> list[Any]:
        """The state's messages with exactly one answer for every call, for a thread whose run was stopped.

        A finished call gets its recorded result, a call in doubt says so, and one that never began says that.

        Args:
            state: the graph's state, or its messages.
            thread_id: the thread that the state is of.
        """
        return await _repair.repair(self._core, state, str(thread_id))

    def repair(self, state: Any, thread_id: str) -> list[Any]:
        """As `arepair`, from sync code."""
        return in_sync(self.arepair(state, thread_id))

    async def adelete_thread(self, thread_id: str) -> int:
        """How many records of the thread were deleted; call it where the checkpointer's thread is deleted."""
        return await delete_runs(self._store, listing(str(thread_id)))

    def delete_thread(self, thread_id: str) -> int:
        """As `adelete_thread`, from sync code."""
        return in_sync(self.adelete_thread(thread_id))

    async def adelete_run(self, run_name: str) -> int:
        """How many records of a named request were deleted; a request of that name then starts anew."""
        return await delete_runs(self._store, named_listing(run_name))

    def delete_run(self, run_name: str) -> int:
        """As `adelete_run`, from sync code."""
        return in_sync(self.adelete_run(run_name))

    async def aprune(self, older_than_s: float) -> int:
        """How many runs of records were deleted: begun at least so long ago, and with finished calls only.

        Raises:
            ConfigError: `older_than_s` is not a finite number from 0 on.
        """
        check_seconds("older_than_s", older_than_s)
        return await prune_runs(
            self._core.ledger, self._store, older_than_s, ("langgraph:", "langgraph-run:")
        )

    def prune(self, older_than_s: float) -> int:
        """As `aprune`, from sync code."""
        return in_sync(self.aprune(older_than_s))


def _asked_by(middleware: object) -> set[str]:
    """The tools about which LangChain's own human-in-the-loop middleware asks."""
    asks = getattr(middleware, "interrupt_on", None)
    return {name for name, config in asks.items() if config} if isinstance(asks, dict) else set()
