"""One protected call, from its record to its record: the sync and the async driver over one core.

A driver enters the ledger, runs the framework's own execution with probes in front of the tools, and records
how it ended. Sync calls run in the caller's thread and only their store operations on the shared loop; async
calls run in a task of their own, so that a cancelled caller or a failed sibling does not lose a result.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand, is_invalid_resume

from agent_adapter.errors import ConfigError, NotSealable
from agent_adapter.exec.integration import (
    Asked,
    Attempt,
    CallId,
    ClaimLost,
    Ledger,
    Replay,
    call_key_scope,
    decode,
    encode,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter.runtime import shared
from agent_adapter_langgraph._approval import Answers, Parked, storable
from agent_adapter_langgraph._compat import BodyScope
from agent_adapter_langgraph._identity import as_stored
from agent_adapter_langgraph._messages import MESSAGES, Known, dump, dump_parent, load
from agent_adapter_langgraph._probe import Recorded
from agent_adapter_langgraph._selfcheck import require_questions
from agent_adapter_langgraph._signals import LookAgain, stopping

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """One call to drive.

    Attributes:
        id: its identity in the ledger.
        policy: its tool's policy.
        model_id: the model's id of the call; None when the tool was called with plain arguments.
        namespace: the checkpoint namespace of the visit.
        known: the classes that its record may hold.
        answers: what people said to the open questions of the task.
        position: the call's place among its siblings in one task.
        finished: what is done with a result before it is recorded, such as giving it an id.
        on_fork: what a finished call of another visit means.
    """

    id: CallId
    policy: ToolPolicy
    model_id: str | None
    namespace: str
    known: Known
    answers: Answers
    position: int = 0
    finished: Callable[[Any], Any] = lambda result: result
    on_fork: Literal["replay", "rerun", "ask"] = "replay"


class Running:
    """One body under way: what its probe tells, and the attempt that it belongs to.

    Attributes:
        completed: what the body returned, once it did; whatever stands between the call and its body may still fail.
        refused: the signal that this call's own claim raised, as opposed to one from a call inside the body.
    """

    def __init__(self, call: Call, attempt: Attempt) -> None:
        self.attempt = attempt
        self.completed: Recorded | None = None
        self.refused: BaseException | None = None
        self.scope = BodyScope(
            [decode(answer, known=MESSAGES) for answer in attempt.answers], call.position
        )
        self._lock = threading.Lock()
        self._bodies = 0
        self._last: BodyEnd | None = None
        if attempt.body_output is not None:
            self.completed = Recorded(
                load(
                    attempt.body_output,
                    call.known,
                    tool=call.id.tool,
                    call_id=call.model_id,
                    namespace=call.namespace,
                )
            )

    def begin(self, arguments: dict[str, Any]) -> Recorded | None:
        return in_sync(self.abegin(arguments))

    async def abegin(self, arguments: dict[str, Any]) -> Recorded | None:
        if self.completed is not None:
            return self.completed
        try:
            with leaving():
                await self.attempt.start(encode(as_stored(arguments)))
        except GraphBubbleUp as refused:
            self.refused = refused
            raise
        with self._lock:
            self._bodies += 1
        return None

    def end(self, output: Any, error: BaseException | None) -> None:
        if error is None:
            self.completed = Recorded(output)
        elif isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self.attempt.note_failure(error)
        with self._lock:
            self._bodies -= 1
            last = self._last if self._bodies == 0 else None
        if last is not None:
            in_background(last(output, error))

    def keyed(self) -> AbstractContextManager[None]:
        return call_key_scope(self.attempt.idempotency_key)

    def scoped(self, config: RunnableConfig) -> RunnableConfig:
        return self.scope.enter(config)

    def leave_to_body(self, end: "BodyEnd") -> bool:
        """Let a body that still runs in a thread record its own end; False when none does."""
        with self._lock:
            self._last = end if self._bodies else None
            return self._last is not None


BodyEnd = Callable[[Any, BaseException | None], Coroutine[Any, Any, None]]


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
                return self._replay(call, entered)
            running = Running(call, entered)
            try:
                result = execute(running)
            except BaseException as error:  # noqa: BLE001 - recorded, then raised again
                raised = in_sync(self._failed(call, running, error))
            else:
                return in_sync(self._finished(call, running, result))
            if not isinstance(raised, LookAgain):
                raise raised

    async def arun(self, call: Call, execute: Callable[[Running], Awaitable[Any]]) -> Any:
        """As `run`; the body goes on and is recorded even when the caller is cancelled."""
        while True:
            entered = await self._enter(call)
            if isinstance(entered, Replay):
                return self._replay(call, entered)
            task = asyncio.create_task(self._body(call, Running(call, entered), execute))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
            try:
                return await asyncio.shield(task)
            except LookAgain:
                continue

    async def _body(
        self, call: Call, running: Running, execute: Callable[[Running], Awaitable[Any]]
    ) -> Any:
        try:
            result = await execute(running)
        except asyncio.CancelledError as error:
            # Only a closing loop or program cancels this task.
            self._torn_down(call, running, error)
            raise
        except BaseException as error:  # noqa: BLE001 - recorded, then raised again
            raised = await self._failed(call, running, error)
        else:
            return await self._finished(call, running, result)
        raise raised

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Whoever awaited it has it; a caller that was cancelled meanwhile has not, and the record says it.
            logger.debug("a protected call ended with %r", error)

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
            return await self.ledger.enter(
                call.id,
                policy=call.policy,
                answers=call.answers.decisions,
                on_fork=call.on_fork,
                bare=call.answers.bare,
            )

    def _replay(self, call: Call, entered: Replay) -> Any:
        self._announce(call)
        result = load(
            entered.outcome,
            call.known,
            tool=call.id.tool,
            call_id=call.model_id,
            namespace=call.namespace,
        )
        # What a person said has no id yet; what a tool returned got its id before it was recorded.
        return call.finished(result)

    async def _finished(self, call: Call, running: Running, result: Any) -> Any:
        try:
            with leaving():
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


@contextmanager
def leaving(note: str = "") -> Iterator[None]:
    """What leaves this block leaves as the framework may see it.

    A question becomes a pause, a lost claim a second look, anything else an error that ends the run.
    """
    try:
        yield
    except Asked as asked:
        try:
            require_questions()
        except ConfigError as refused:
            raise stopping(refused) from None
        raise Parked([asked.question], note) from None
    except ClaimLost:
        raise LookAgain from None
    except Exception as error:  # noqa: BLE001 - it leaves as an error of its own class
        raise stopping(error) from None


def in_sync(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of store work, waited for in this thread."""
    return shared().run(work)


def in_background(work: Coroutine[Any, Any, Any]) -> None:
    """Do store work for which nobody can wait any more."""
    threading.Thread(target=in_sync, args=(work,), name="agent-adapter-late").start()
