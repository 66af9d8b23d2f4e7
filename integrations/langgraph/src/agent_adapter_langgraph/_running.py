"""One call under way: what it is, and what its probes tell while other code stands between it and its body."""

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp

from agent_adapter import RunContext
from agent_adapter.errors import ToolUsageError
from agent_adapter.exec.integration import (
    Attempt,
    CallId,
    Fits,
    approved,
    as_stored,
    call_key_scope,
    decode,
    encode,
    in_background,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter_langgraph._approval import Answers
from agent_adapter_langgraph._compat import BodyScope
from agent_adapter_langgraph._leaving import in_sync, leaving
from agent_adapter_langgraph._messages import MESSAGES, Known, load, readdressed
from agent_adapter_langgraph._probe import Changed, Recorded
from agent_adapter_langgraph._scope import scope_of


@dataclass(frozen=True)
class Call:
    """One call to drive.

    Attributes:
        id: its identity in the ledger.
        policy: its tool's policy.
        ctx: the run that it belongs to, for functions that say whether a person is asked.
        model_id: the model's id of the call; None when the tool was called with plain arguments.
        namespace: the checkpoint namespace of the visit.
        known: the classes that its record may hold.
        answers: what people said to the open questions of the task.
        policy_of: the policy of any other tool that something in between may choose.
        finished: what is done with a result before it is recorded, such as giving it an id.
        storable: raises when the framework cannot store the result.
        on_fork: what a finished call of another visit means.
    """

    id: CallId
    policy: ToolPolicy
    ctx: RunContext
    model_id: str | None
    namespace: str
    known: Known
    answers: Answers
    policy_of: Callable[[BaseTool], ToolPolicy]
    finished: Callable[[Any], Any] = lambda result: result
    storable: Callable[[Any], None] = lambda result: None
    on_fork: Literal["replay", "rerun", "ask"] = "replay"

    def load(self, outcome: Any, call_id: str | None = None) -> Any:
        """The recorded outcome as the call's result; raises what the tool raised to hand off, see `_messages.load`.

        Args:
            outcome: what was recorded.
            call_id: the id under which it was recorded; the result answers this call's own.
        """
        loaded = load(
            outcome, self.known, tool=self.id.tool, call_id=self.model_id, namespace=self.namespace
        )
        return readdressed(loaded, call_id, self.model_id)


# The calls that the present code is inside of.
calls_under_way: ContextVar[frozenset[tuple[str, str]]] = ContextVar(
    "agent_adaptercalls_under_way", default=frozenset()
)


@contextmanager
def under_way(call: Call) -> Iterator[None]:
    token = calls_under_way.set(calls_under_way.get() | {(call.id.run, call.id.key)})
    try:
        yield
    finally:
        calls_under_way.reset(token)


NO_LONGER_FITS = "the tool no longer accepts these arguments, so it was not run again"


class Running:
    """One body under way: what its probe tells, and the attempt that it belongs to.

    Attributes:
        completed: what the body returned, once it did; whatever stands between the call and its body may still fail.
        refused: the signal that this call's own claim raised, as opposed to one from a call inside the body.
        left: a body in a thread goes on after its driver ended, and ends the attempt itself.
    """

    def __init__(self, call: Call, attempt: Attempt) -> None:
        self.attempt = attempt
        self.completed: Recorded | None = None
        self.refused: BaseException | None = None
        self.left = False
        self._call = call
        self._given: Any = None
        answers = [decode(answer, known=MESSAGES) for answer in attempt.answers]
        self.scope = BodyScope(answers, f"{call.id.run}/{call.id.key}")
        self._lock = threading.Lock()
        self._bodies = 0
        self._last: BodyEnd | None = None
        if attempt.body_output is not None:
            self._given = attempt.arguments
            self.completed = Recorded(call.load(attempt.body_output))

    def begin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> Recorded | Changed | None:
        return in_sync(self.abegin(arguments, tool, fits=fits))

    async def abegin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> Recorded | Changed | None:
        try:
            with leaving(self._call.answers.note if fits(arguments) else NO_LONGER_FITS):
                return await self._begin(arguments, tool, fits=fits)
        except GraphBubbleUp as refused:
            self.refused = refused
            raise

    async def _begin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> Recorded | Changed | None:
        given = encode(as_stored(arguments))
        policy = self._call.policy
        if tool.name != self._call.id.tool:
            # Something in between chose another tool: what it may do counts, not what was asked for.
            policy = self._call.policy_of(tool)
            self.attempt.tighten(policy)
        if self.completed is not None and not self.attempt.repeatable:
            if given != self._given:
                raise ToolUsageError(
                    f"call {self._call.id.call_id!r} already ran tool {tool.name!r}, and something around it runs it once more "
                    "with other arguments: that is a call of its own. Declare the tool idempotent, or make it a call"
                )
            return self.completed
        if not fits(arguments):
            if self.attempt.doubtful:
                raise self.attempt.ask_again()
            changed = None
        else:
            changed = await approved(
                self.attempt, policy, self._call.ctx, arguments, given=given, fits=fits
            )
        if changed is not None:
            given = encode(as_stored(changed))
        await self.attempt.start(given)
        self._given, self.completed = given, None
        with self._lock:
            self._bodies += 1
        return None if changed is None else Changed(changed)

    def end(self, output: Any, error: BaseException | None, *, began: bool) -> None:
        if error is None:
            self.completed = Recorded(output)
        elif isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self.attempt.note_failure(error, began=began)
        with self._lock:
            self._bodies -= 1
            last = self._last if self._bodies == 0 else None
        if last is not None:
            in_background(last(output, error))

    @contextmanager
    def inside(self) -> Iterator[None]:
        name = self._call.id
        with (
            call_key_scope(self.attempt.idempotency_key),
            scope_of(f"{name.run}/{name.key}", self._call.namespace),
        ):
            yield

    def scoped(self, config: RunnableConfig) -> RunnableConfig:
        return self.scope.enter(config)

    def leave_to_body(self, end: "BodyEnd") -> bool:
        """Let a body that still runs in a thread record its own end; False when none does."""
        with self._lock:
            self._last = end if self._bodies else None
            self.left = self._last is not None
            return self.left


BodyEnd = Callable[[Any, BaseException | None], Coroutine[Any, Any, None]]
