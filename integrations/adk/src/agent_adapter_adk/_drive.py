"""One protected call, from its record to its record."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.adk.agents.context import Context
from google.adk.tools.tool_confirmation import ToolConfirmation

from agent_adapter import RunContext
from agent_adapter.errors import ToolFailed, ToolUsageError
from agent_adapter.exec.integration import (
    Asked,
    Attempt,
    CallId,
    ClaimLost,
    Fits,
    Ledger,
    Question,
    Replay,
    approved,
    as_stored,
    call_key_scope,
    decode,
    encode,
    in_background,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk._compat import is_pause
from agent_adapter_adk._effects import Effects, apply
from agent_adapter_adk._outcomes import (
    RAISED,
    NotAResult,
    done,
    load,
    log_unrecordable,
    raised,
)
from agent_adapter_adk._run import Inside, Run, entered
from agent_adapter_adk._signals import Stopped, stops
from agent_adapter_adk._values import Known, plain_value

Body = Callable[[dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Asks:
    """A body has asked.

    Attributes:
        unheard: what it asked, where nobody hears ADK's own question; None where ADK takes care of it.
    """

    unheard: dict[str, Any] | None


@dataclass(frozen=True)
class Use:
    """One use of a tool.

    Attributes:
        id: its identity in the ledger.
        run: the run that makes it.
        ctx: its context.
        arguments: those that the body is to be given.
        policy: its tool's policy.
        known: the classes that its record may hold.
        orchestrates: the body only makes calls that are protected themselves, and may always be entered again.
        answers_errors: an exception becomes an answer for the model; otherwise the call is in doubt.
        fits: whether the tool accepts arguments.
        kept: raises `NotAResult` for a value that says nothing about the call.
        asks: what the body itself asked, so that what it returned is a placeholder; None when it did not.
        ask: makes ADK ask these questions; gives the call's placeholder, or raises.
    """

    id: CallId
    run: Run
    ctx: Context
    arguments: dict[str, Any]
    policy: ToolPolicy
    known: Known
    orchestrates: bool
    answers_errors: bool
    fits: Fits
    kept: Callable[[Any], None]
    asks: Callable[[], "Asks | None"]
    ask: Callable[[list[Question], str], Any]


class Unclear(ClaimLost):
    """The body's value leaves open what became of the call: look at it again."""


class Drive:
    """Runs protected calls of one ledger.

    Args:
        ledger: where they are recorded.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._bodies: set[asyncio.Task[Any]] = set()

    async def call(self, use: Use, body: Body) -> Any:
        """The call's result, from the record or from its body; or the placeholder of a call that waits for a person.

        Raises:
            Stopped: the run has to stop here.
            Exception: what the tool raised, now or when it ran.
        """
        unclear = False
        try:
            while True:
                try:
                    return await self._once(use, body)
                except Unclear as failed:
                    # The tool may run again at once, or its probe says so; but not for ever.
                    if unclear:
                        raise Stopped(str(failed)) from failed
                    unclear = True
                except ClaimLost:
                    continue
        except Asked as asked:
            return use.ask([asked.question], asked.note)

    async def _once(self, use: Use, body: Body) -> Any:
        with stops():
            entered_ = await self.ledger.enter(
                use.id,
                policy=ToolPolicy(idempotent=True) if use.orchestrates else use.policy,
                answers=use.run.decided(),
            )
        if isinstance(entered_, Replay):
            return self._replay(use, entered_)
        entered_.bind(asyncio.get_running_loop())
        try:
            arguments = await self._begin(use, entered_)
        except BaseException:
            entered_.land()
            raise
        if use.orchestrates:
            # What is inside is shielded call by call; a pause or a cancellation of the whole has to reach it.
            return await self._run(use, entered_, body, arguments)
        task = asyncio.create_task(self._run(use, entered_, body, arguments))
        self._bodies.add(task)
        task.add_done_callback(self._bodies.discard)
        task.add_done_callback(_retrieved)
        return await asyncio.shield(task)

    async def _begin(self, use: Use, attempt: Attempt) -> dict[str, Any]:
        """The arguments to run the body with, once it is stored that it begins."""
        arguments = use.arguments
        with stops():
            given = encode(as_stored(arguments))
        changed = await approved(
            attempt,
            use.policy,
            RunContext(run_id=use.run.store_run, user=use.run.place[1]),
            arguments,
            given=given,
            fits=use.fits,
        )
        with stops():
            if changed is not None:
                arguments, given = changed, encode(as_stored(changed))
            await attempt.start(given)
        return arguments

    async def _run(self, use: Use, attempt: Attempt, body: Body, arguments: dict[str, Any]) -> Any:
        effects = Effects(use.ctx)
        if attempt.answers:
            said = ToolConfirmation.model_validate(decode(attempt.answers[-1]))
            use.ctx.tool_confirmation = said
        try:
            with entered(use.run, use.id) as here, call_key_scope(attempt.idempotency_key):
                try:
                    result = await body(arguments)
                except BaseException as error:
                    await self._failed(use, attempt, effects, error)
                    raise
                return await self._finished(use, attempt, effects, here, result)
        finally:
            attempt.land()

    async def _finished(
        self, use: Use, attempt: Attempt, effects: Effects, here: Inside, result: Any
    ) -> Any:
        if here.asked:
            with stops():
                await attempt.contain()
            # The whole call waits for what was asked inside.
            return use.ask(here.asked, "")
        if (asks := use.asks()) is not None:
            with stops():
                if asks.unheard is None:
                    await attempt.contain()
                    return result
                question = await attempt.pause(encode(asks.unheard), None)
            return use.ask([question], "")
        try:
            use.kept(result)
        except NotAResult as nothing:
            with stops():
                if not nothing.ambiguous:
                    await attempt.contain()
                    return result
                await attempt.fail("raised", nothing)
            raise Unclear(str(nothing)) from None
        with stops():
            await self._store(use, attempt, effects, lambda: done(plain_value(result, use.known)))
        return result

    async def _store(
        self, use: Use, attempt: Attempt, effects: Effects, make: Callable[[], dict[str, Any]]
    ) -> None:
        """Record the outcome with what the call did; without a stored form it is a question when the call is met again."""
        at = time.time_ns()
        use.run.settled.update(dict.fromkeys(effects.state_keys, at))
        try:
            outcome = {**make(), "at": at, "effects": effects.plain(use.known)}
            await attempt.finish(outcome)
        except ToolUsageError as refused:
            # `NotSealable` is one; so is a result that is too large for any store.
            log_unrecordable(use.id.tool, refused)
            await attempt.unrecordable(str(refused))

    async def _failed(
        self, use: Use, attempt: Attempt, effects: Effects, error: BaseException
    ) -> None:
        """Record what the failure means for the call."""
        if isinstance(error, asyncio.CancelledError | GeneratorExit) and not use.orchestrates:
            # Only a closing loop or program ends this task, and then nothing can be waited for here.
            in_background(attempt.fail("cancelled", error))
            return
        with stops():
            if (
                isinstance(error, Stopped)
                or is_pause(error)
                or (use.orchestrates and not isinstance(error, Exception))
            ):
                await attempt.contain()
            elif not isinstance(error, Exception):
                await attempt.fail("cancelled", error)
            elif use.answers_errors:
                await self._store(use, attempt, effects, lambda: raised(error))
            else:
                await attempt.fail("raised", error)

    def _replay(self, use: Use, entered_: Replay) -> Any:
        outcome = entered_.outcome
        effects = outcome.get("effects", {})
        at = outcome.get("at", 0)
        settled = use.run.settled
        with stops():
            mine = {key: at >= settled.get(key, 0) for key in effects.get("state", {})}
            apply(use.ctx, effects, use.known, mine=mine)
            settled.update({key: at for key, is_mine in mine.items() if is_mine})
            result = load(outcome, use.id, use.known)
        if isinstance(result, ToolFailed) and outcome["kind"] == RAISED:
            raise result
        return result

    async def drain(self, wait_s: float) -> None:
        """Wait for bodies that go on although nobody waits for them any more."""
        loop = asyncio.get_running_loop()
        here = {task for task in self._bodies if task.get_loop() is loop}
        if here:
            await asyncio.wait(here, timeout=wait_s)


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Whoever waited may have been cancelled: the outcome is in the record."""
    if not task.cancelled():
        task.exception()
