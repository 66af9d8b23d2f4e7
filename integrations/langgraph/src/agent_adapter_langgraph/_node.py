"""Own nodes: every executor call and every wrapped tool inside a durable node is protected."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt

from agent_adapter import ToolResult
from agent_adapter.errors import NotSealable
from agent_adapter.exec.integration import (
    Attempt,
    CallId,
    ClaimLost,
    Replay,
    Slot,
    from_entry,
    make_journal,
    visit_scope,
)
from agent_adapter_langgraph._approval import Answers
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._identity import visit_call
from agent_adapter_langgraph._leaving import in_sync, leaving
from agent_adapter_langgraph._scope import scope_of
from agent_adapter_langgraph._signals import LookAgain
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
            observer = LedgerObserver(core, visit)
            with observer.scope():
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    await observer.close(error)
                    raise
                await observer.close(SWALLOWED)
                return result

        return anode  # type: ignore[return-value]  # same signature, by functools.wraps

    @functools.wraps(function)
    def node(*args: Any, **kwargs: Any) -> Any:
        visit = core.visit(get_config())
        if not core.barrier.protects(visit):
            return function(*args, **kwargs)
        core.barrier.wait(visit)
        observer = LedgerObserver(core, visit)
        with observer.scope():
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                in_sync(observer.close(error))
                raise
            in_sync(observer.close(SWALLOWED))
            return result

    return node  # type: ignore[return-value]  # same signature, by functools.wraps


# Why a call is still open when its node returns: whatever ended it never reached the node.
SWALLOWED = RuntimeError("the call was cancelled, and its node went on")


class LedgerObserver:
    """Tells the ledger of every call that the journal of one node claims, and answers those that are recorded."""

    def __init__(self, core: Core, visit: Visit) -> None:
        self._core = core
        self._visit = visit
        self._open: dict[int, tuple[Slot, Attempt]] = {}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Where executor calls are journaled and wrapped tools are counted by this node."""
        journal = make_journal(observer=self)
        try:
            with scope_of(self._visit.namespace, self._visit.namespace), visit_scope(None, journal):
                yield
        finally:
            journal.close()

    async def started(self, slot: Slot) -> ToolResult | None:
        """The recorded result, or None once it is stored that the body begins."""
        if slot.result is not None:
            return None
        with leaving():
            if slot.digest is None:
                reason = "was called with arguments that have no exact stored form; nothing ran"
                raise NotSealable("$", slot.tool, reason)
        call = self._identify(slot)
        answers = await self._core.answers(self._visit, [call])
        while True:
            try:
                with leaving(answers.note):
                    return await self._enter(slot, call, answers)
            except LookAgain:
                continue

    async def _enter(self, slot: Slot, call: CallId, answers: Answers) -> ToolResult | None:
        entered = await self._core.ledger.enter(
            call,
            policy=slot.policy,
            answers=answers.decisions,
            on_fork=self._core.on_fork,
            bare=answers.bare,
        )
        if isinstance(entered, Replay):
            return _result(slot, entered.outcome)
        # A cancelled caller must not leave a call that is begun in the record and nowhere else.
        starting = asyncio.create_task(entered.start(slot.arguments))
        try:
            await asyncio.shield(starting)
        except BaseException as error:
            await asyncio.wait([starting])
            if not starting.cancelled() and starting.exception() is None:
                await entered.undo(error)
            entered.land()
            raise
        slot.idempotency_key = entered.idempotency_key
        self._open[id(slot)] = (slot, entered)
        return None

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Record how the call ended."""
        _, attempt = self._open.pop(id(slot), (slot, None))
        if attempt is None:
            return
        try:
            with leaving(), suppress(ClaimLost):
                # Lost only by a call that may run twice, to a worker that was faster: both outcomes are true.
                await _record(attempt, slot, result)
        finally:
            attempt.land()

    async def close(self, error: BaseException) -> None:
        """The node ends with an error while calls are open: those that pause are entered again, others are in doubt."""
        for _, attempt in list(self._open.values()):
            try:
                with leaving():
                    if isinstance(error, GraphInterrupt):
                        await attempt.contain()
                    else:
                        await attempt.fail("cancelled", error)
            finally:
                attempt.land()
        self._open.clear()

    def _identify(self, slot: Slot) -> CallId:
        # The journal's key already counts equal calls, in the order of the node's code.
        return visit_call(self._visit, slot.tool, slot.key, slot.arguments)


async def _record(attempt: Attempt, slot: Slot, result: ToolResult) -> None:
    if isinstance(slot.kept, dict) and "unrecordable" not in slot.kept:
        await attempt.finish({"kind": "journaled", "entry": slot.kept})
    elif result.status == "cancelled":
        await attempt.fail("cancelled", result.cause or RuntimeError("cancelled"))
    else:
        await attempt.unrecordable(str(slot.kept))


def _result(slot: Slot, outcome: Any) -> ToolResult:
    """The recorded outcome as the executor's result."""
    if outcome["kind"] == "journaled":
        return from_entry(outcome["entry"], slot.tool, slot.returns, None)
    if outcome["happened"]:
        return from_entry({"value": outcome["value"]}, slot.tool, slot.returns, None)
    reason = outcome["value"] or "a person decided that this call is not run"
    error = {"kind": "denied", "type": "DoNotRun", "message": reason}
    return from_entry({"status": "denied", "error": error}, slot.tool, slot.returns, None)
