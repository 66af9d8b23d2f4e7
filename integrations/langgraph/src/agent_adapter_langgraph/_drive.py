"""One protected call, from its record to its record: the sync and the async driver over one core.

A driver enters the ledger, runs the framework's own execution with probes in front of the tools, and records how it ended.
Sync calls run in the caller's thread and only their store operations on the shared loop; async calls run in a task of their
own, so that a cancelled caller or a failed sibling does not lose a result.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand, is_invalid_resume

from agent_adapter.errors import NotSealable, ToolUsageError
from agent_adapter.exec.integration import Attempt, Ledger, Replay, in_background
from agent_adapter_langgraph._approval import Parked, storable
from agent_adapter_langgraph._leaving import in_sync, leaving
from agent_adapter_langgraph._messages import dump, dump_parent
from agent_adapter_langgraph._running import Call, Running, calls_under_way, under_way
from agent_adapter_langgraph._signals import LookAgain, stopping, stops

logger = logging.getLogger(__name__)


class Drive:
    """Runs protected calls of one ledger, sync and async.

    Args:
        ledger: where calls are recorded.
        announce: told about each call that is answered from the record.
    """

    def __init__(self, ledger: Ledger, announce: Callable[[Call], None]) -> None:
        self.ledger = ledger
        self._announce = announce
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, call: Call, execute: Callable[[Running], Any]) -> Any:
        """The call's result: recorded, or by `execute` in this thread.

        Raises:
            GraphBubbleUp: the run has to stop or pause here.
            Exception: what the tool raised, when nobody made an answer of it.
        """
        while True:
            entered = in_sync(self._enter(call))
            if isinstance(entered, Replay):
                result = self._replay(call, entered)
                if not (refusal := self._refusal(call, result)):
                    return result
                in_sync(self._dispute(call, refusal))
                continue
            running = self._running(call, entered)
            try:
                with under_way(call):
                    result = execute(running)
            except BaseException as error:  # noqa: BLE001 - recorded, then raised again
                raised = in_sync(self._failed(call, running, error))
            else:
                try:
                    return in_sync(self._finished(call, running, result))
                except LookAgain:
                    continue
            if not isinstance(raised, LookAgain):
                raise raised

    async def arun(self, call: Call, execute: Callable[[Running], Awaitable[Any]]) -> Any:
        """As `run`; the body goes on and is recorded even when the caller is cancelled."""
        while True:
            entered = await self._enter(call)
            if isinstance(entered, Replay):
                result = self._replay(call, entered)
                if not (refusal := self._refusal(call, result)):
                    return result
                await self._dispute(call, refusal)
                continue
            running = self._running(call, entered)
            entered.bind(asyncio.get_running_loop())
            task = asyncio.create_task(self._body(call, running, execute))
            self._tasks.add(task)
            task.add_done_callback(partial(self._ended, running=running))
            try:
                return await asyncio.shield(task)
            except LookAgain:
                continue

    async def _body(
        self, call: Call, running: Running, execute: Callable[[Running], Awaitable[Any]]
    ) -> Any:
        # A task's context ends with it; there is nothing to set back.
        calls_under_way.set(calls_under_way.get() | {(call.id.run, call.id.key)})
        try:
            result = await execute(running)
        except (asyncio.CancelledError, GeneratorExit) as error:
            # Only a closing loop or program ends this task.
            self._torn_down(call, running, error)
            raise
        except BaseException as error:  # noqa: BLE001 - recorded, then raised again
            raised = await self._failed(call, running, error)
        else:
            return await self._finished(call, running, result)
        raise raised

    def _ended(self, task: asyncio.Task[Any], running: Running) -> None:
        self._tasks.discard(task)
        if not running.left:
            # Also a task that was cancelled before its first step.
            running.attempt.land()
        if not task.cancelled() and (error := task.exception()) is not None:
            # Whoever awaited it has it; a caller that was cancelled meanwhile has not, and the record says it.
            logger.debug("a protected call ended with %r", error)

    @staticmethod
    def _running(call: Call, entered: Attempt) -> Running:
        try:
            with stops():
                return Running(call, entered)
        except BaseException:
            entered.land()
            raise

    def _torn_down(self, call: Call, running: Running, error: BaseException) -> None:
        """The loop closes: a body in a thread records its own end, anything else is in doubt."""

        async def end(output: Any, raised: BaseException | None) -> None:
            if raised is None:
                await self._finished(call, running, output)
            else:
                await self._failed(call, running, raised)

        if not running.leave_to_body(end):
            in_background(self._failed(call, running, error))

    async def _enter(self, call: Call) -> Replay | Attempt:
        with leaving(call.answers.note):
            if (call.id.run, call.id.key) in calls_under_way.get():
                raise ToolUsageError(
                    f"call {call.id.call_id!r} of tool {call.id.tool!r} is entered from inside itself: its tool is protected "
                    "twice, or calls itself under its own id"
                )
            return await self.ledger.enter(
                call.id,
                policy=call.policy,
                answers=call.answers.decisions,
                on_fork=call.on_fork,
                bare=call.answers.bare,
            )

    def _replay(self, call: Call, entered: Replay) -> Any:
        self._announce(call)
        try:
            result = call.load(entered.outcome, entered.call_id)
        except NotSealable as error:
            raise stopping(error) from None
        # What a person said has no id yet; what a tool returned got its id before it was recorded.
        return call.finished(result)

    @staticmethod
    def _refusal(call: Call, result: Any) -> str:
        """Why the checkpointer cannot store a recorded result: it would fail on every resume; empty when it can."""
        try:
            call.storable(result)
        except Exception as error:  # noqa: BLE001 - whatever the serializer raises, the result is of no use
            return f"the checkpointer cannot store it: {type(error).__name__}: {error}"[:500]
        return ""

    async def _dispute(self, call: Call, refusal: str) -> None:
        with leaving():
            await self.ledger.dispute(call.id, refusal)

    async def _finished(self, call: Call, running: Running, result: Any) -> Any:
        try:
            with leaving(f"it was not run again: {getattr(result, 'content', result)}"):
                if running.attempt.doubtful and not running.attempt.started:
                    # An answer made without the tool says nothing about what the tool may have done.
                    raise running.attempt.ask_again()
                result = call.finished(result)
                await self._store(call, running.attempt.finish, running.attempt, result)
            return result
        finally:
            running.attempt.land()

    async def _failed(self, call: Call, running: Running, error: BaseException) -> BaseException:
        """The error to raise, once it is recorded what it means for the call."""
        try:
            with leaving():
                return await self._record_failure(call, running, error)
        except GraphBubbleUp as refused:
            return refused
        finally:
            running.attempt.land()

    async def _store(
        self, call: Call, store: Callable[[Any], Awaitable[None]], attempt: Attempt, result: Any
    ) -> None:
        """Store a result by `store`; one that has no exact stored form becomes a question when the call is met again."""
        try:
            outcome = dump(result, call.known)
        except NotSealable as refused:
            logger.warning(
                "tool %r: its result cannot be stored and will not be replayed: %s",
                call.id.tool,
                refused,
            )
            await attempt.unrecordable(str(refused))
        else:
            await store(outcome)

    async def _record_failure(
        self, call: Call, running: Running, error: BaseException
    ) -> BaseException:
        attempt = running.attempt
        if error is running.refused or not (attempt.started or running.completed):
            return error
        if running.completed is not None:
            # The body is over; what failed or asks stands around it, and is entered again without the body.
            await self._store(call, attempt.contain, attempt, running.completed.output)
        elif isinstance(error, GraphInterrupt):
            if not running.scope.asked:
                await attempt.contain()
                return error
            asked = error.args[0][0]
            return Parked(
                [await attempt.pause(storable(asked.value), asked.response_schema)],
                note=call.answers.note,
            )
        elif isinstance(error, ParentCommand):
            await attempt.finish(dump_parent(error.args[0], call.namespace, call.known))
        elif is_invalid_resume(error):
            # Nothing was saved: the body's own question is open again, or that of a graph inside it still is.
            await (attempt.reopen() if attempt.answered else attempt.contain())
        elif isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            await attempt.fail("raised", error)
        else:
            await attempt.fail("cancelled", error)
        return error
