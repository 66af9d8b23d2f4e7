"""Own nodes: every executor call and every wrapped tool inside a durable node is protected."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

from agent_adapter import ToolResult
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.exec.integration import (
    Asked,
    AskingRecorder,
    Attempt,
    CallId,
    Replay,
    Slot,
    make_journal,
    visit_scope,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter_langgraph._approval import Parked
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._identity import visit_call
from agent_adapter_langgraph._leaving import in_sync, leaving
from agent_adapter_langgraph._scope import scope_of
from agent_adapter_langgraph._visit import Visit

F = TypeVar("F", bound=Callable[..., Any])


def durable_node(function: F, core: Core) -> F:
    """The node with a journal around it; its signature, and so what LangGraph injects, stays the same."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def anode(*args: Any, **kwargs: Any) -> Any:
            visit = core.visit(get_config())
            if not core.barrier.protects(visit):
                return await function(*args, **kwargs)
            await core.barrier.await_(visit)
            recorder = NodeRecorder(core, visit)
            with recorder.scope():
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    if (raised := await recorder.close(error)) is error:
                        raise
                    raise raised from None
                await recorder.close(SWALLOWED)
                recorder.check_asked()
                return result

        return anode  # type: ignore[return-value]  # same signature, by functools.wraps

    @functools.wraps(function)
    def node(*args: Any, **kwargs: Any) -> Any:
        visit = core.visit(get_config())
        if not core.barrier.protects(visit):
            return function(*args, **kwargs)
        core.barrier.wait(visit)
        recorder = NodeRecorder(core, visit)
        with recorder.scope():
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                if (raised := in_sync(recorder.close(error))) is error:
                    raise
                raise raised from None
            in_sync(recorder.close(SWALLOWED))
            recorder.check_asked()
            return result

    return node  # type: ignore[return-value]  # same signature, by functools.wraps


# Why a call is still open when its node returns: whatever ended it never reached the node.
SWALLOWED = RuntimeError("the call was cancelled, and its node went on")


class NodeRecorder(AskingRecorder):
    """Keeps every call that the journal of one node claims in the ledger, and asks for those that need approval."""

    def __init__(self, core: Core, visit: Visit) -> None:
        super().__init__(
            self._into,
            run_id=visit.run_name or visit.thread,
            life=f"{visit.thread}/{visit.namespace}",
            identify=self._identify,
            gate=core.policies.gate,
            pause=self._parked_at,
        )
        self._core = core
        self._visit = visit
        self._slots: dict[str, Slot] = {}
        self._notes: dict[Slot, str] = {}
        self._asked: dict[int, Parked] = {}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Where executor calls are journaled and wrapped tools are counted by this node."""
        journal = make_journal(observer=self)
        try:
            with scope_of(self._visit.namespace, self._visit.namespace), visit_scope(None, journal):
                yield
        finally:
            journal.close()

    def _identify(self, slot: Slot) -> CallId:
        # The journal's key already counts equal calls, in the order of the node's code.
        call = visit_call(self._visit, slot.tool, slot.key, slot.arguments)
        self._slots[call.key] = slot
        return replace(call, call_id=slot.call_id or call.call_id)

    async def _into(self, call: CallId, policy: ToolPolicy) -> Replay | Attempt:
        answers = await self._core.answers(self._visit, [call])
        self._notes[self._slots[call.key]] = answers.note
        return await self._core.ledger.enter(
            call,
            policy=policy,
            answers=answers.decisions,
            on_fork=self._core.on_fork,
            bare=answers.bare,
        )

    def _parked_at(self, place: int, slot: Slot, asked: Asked) -> BaseException:
        """The pause for one question, kept for the node's end."""
        try:
            with leaving(self._notes.get(slot, "")):
                raise asked
        except Parked as parked:
            self._asked[place] = parked
            return parked

    async def look(self, slot: Slot) -> ToolResult | None:
        """The recorded result; None when the call is not over, and then this worker has the right to run it."""
        with leaving():
            return await super().look(slot)

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """What a person decided; the node pauses for it where nobody has yet."""
        with leaving():
            return await super().decide(slot, request)

    async def started(self, slot: Slot) -> ToolResult | None:
        """None once it is stored that the body begins; a result when another worker was faster."""
        with leaving():
            return await super().started(slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Record how the call ended."""
        with leaving():
            await super().settle(slot, result)

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """The call ends with this: one that pauses is entered again, another one that began is in doubt."""
        with leaving():
            await super().leave(slot, error)

    def pauses(self, error: BaseException) -> bool:
        """Whether a call that ends with this error is entered again."""
        return isinstance(error, GraphInterrupt)

    async def close(self, error: BaseException) -> BaseException:
        """What a node that ends with this error has to raise, once its open calls are left: all its questions together."""
        with leaving():
            await self.leave_open(error)
        return self._pause_for_all() if isinstance(error, Parked) and self._asked else error

    def check_asked(self) -> None:
        """Nothing, when nothing was asked: the node may have caught the pause, and is not done all the same."""
        if self._asked:
            raise self._pause_for_all()

    def _pause_for_all(self) -> Parked:
        """The pause for everything that was asked, in the order of the calls."""
        # One interrupt for each: a node reads its answers call by call.
        asked = [self._asked[at] for at in sorted(self._asked)]
        return Parked([], others=[interrupt for each in asked for interrupt in each.args[0]])
