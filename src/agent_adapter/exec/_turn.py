"""The calls of one turn of a loop: run side by side in a visit of their own, recorded where the loop is kept."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from agent_adapter.approvals import ApprovalRequest
from agent_adapter.calls import ToolCall, ToolResult
from agent_adapter.context import RunContext
from agent_adapter.errors import DoubtfulCall, NotSealable, RecoveryNeedsDecision, ToolUsageError
from agent_adapter.exec._asked import Asked
from agent_adapter.exec._claimed import Claimed
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._journal import Journal, make_journal
from agent_adapter.exec._journal_data import from_entry, unsealable_calls
from agent_adapter.exec._loop_durable import Durable
from agent_adapter.exec._loop_messages import answers
from agent_adapter.exec._loop_state import LoopState
from agent_adapter.exec._questions import Question
from agent_adapter.exec._visit import current_visit, visit_scope
from agent_adapter.limits import Meter
from agent_adapter.models import Message
from agent_adapter.registry import Registry


@dataclass(frozen=True)
class TurnEnd:
    """How a turn's calls ended, in call order.

    Attributes:
        results: one for each call.
        messages: what the model is told about them.
        pending: the requests of those that wait for a person.
    """

    results: tuple[ToolResult, ...]
    messages: tuple[Message, ...]
    pending: tuple[ApprovalRequest, ...]


class Turns:
    """Runs the turns of one loop.

    A durable loop has a journal for each turn, recorded in the loop's own run. Any other loop has a part of the visit that
    it stands in, if it stands in one.

    Attributes:
        journal: where the loop's replies are journaled: a part of its visit; None for a loop that stands in none.
    """

    def __init__(
        self,
        *,
        executor: Executor,
        registry: Registry,
        ctx: RunContext,
        concurrency: int | None,
        meter: Meter,
        durable: Durable | None,
        name: str,
    ) -> None:
        self._executor = executor
        self._registry = registry
        self._ctx = ctx
        self._concurrency = concurrency
        self._meter = meter
        self._limits = (executor.limits, ctx.limits)
        self._durable = durable
        visit = current_visit()
        self._answer = visit.answer if visit and durable is None else None
        self.journal: Journal | None = None
        if durable is None and visit is not None:
            self.journal = visit.journal.child(name)

    async def run(self, state: LoopState) -> TurnEnd:
        """The end of the turn's calls.

        Raises:
            RunLimitExceeded: the run may not make so many calls; none began.
            ToolUsageError: a finished call of the turn cannot be made again as it was; none began.
            RecoveryNeedsDecision: only a person can say what became of a call.
            CheckpointConflict: another worker took the run; what had begun here has ended and is recorded.
            NotSealable: a call waits for a person, and the results of others cannot be stored to wait with it.
        """
        assert state.reply is not None  # noqa: S101 - a turn is what a reply asks for
        durable = self._durable
        if durable is not None:
            journal = make_journal(observer=durable.recorder(state.turn))
        elif self.journal is not None:
            journal = self.journal.child(f"turn-{state.turn}")
        else:
            # Nobody will enter it again; it says what waits for a person, also inside its calls.
            journal = make_journal()
        with visit_scope(self._answer, journal):
            try:
                # All or none: a turn that is cut off in its middle leaves calls in doubt.
                self._meter.check(self._limits, tool_calls=len(state.reply.calls))
                # A body may change what it is given, and the history says what the model said.
                batch = [
                    self._executor.claim(_own(call), self._ctx, self._registry)
                    for call in state.reply.calls
                ]
                if lost := journal.unclaimed():
                    raise _changed(journal, lost)
                results = await self._executor.run_claimed(
                    batch, concurrency=self._concurrency, on_error="collect"
                )
            except Asked as asked:
                run_id = durable.kept.run_id if durable else ""
                raise RecoveryNeedsDecision(run_id, [doubt(asked.question)]) from None
            finally:
                if durable is not None:
                    # Whatever happens: a worker never leaves a save under way.
                    await durable.saved()
        claimed = [item for item in batch if isinstance(item, Claimed)]
        pending = tuple(request for item in claimed for request in item.parked)
        if pending and (lost := unsealable_calls(journal.data())):
            raise NotSealable(
                "$", "journal", f"a call waits for a person, and these cannot wait with it: {lost}"
            )
        told = [_recorded(item, result) for item, result in zip(batch, results, strict=True)]
        return TurnEnd(tuple(results), answers(told), pending)


def _recorded(item: Claimed | ToolResult, result: ToolResult) -> ToolResult:
    """The result with the value that is on record: another call may have changed the live one meanwhile."""
    if not isinstance(item, Claimed) or item.place is None:
        return result
    slot = item.place.slot
    kept = slot.kept if isinstance(slot.kept, dict) else {}
    # Other values cannot change.
    if not isinstance(result.value, list | dict) or not isinstance(kept.get("value"), list | dict):
        return result
    return replace(result, value=from_entry(kept, slot.tool, slot.returns, None).value)


def _own(call: ToolCall) -> ToolCall:
    """The call, with arguments that nobody else holds."""
    shared = any(isinstance(value, list | dict) for value in call.arguments.values())
    return deepcopy(call) if shared else call


def _changed(journal: Journal, lost: Sequence[str]) -> ToolUsageError:
    """The refusal of a turn with records of calls that its reply no longer makes; it gets out of any body."""
    refusal = ToolUsageError(
        f"the model's reply no longer makes the recorded calls {', '.join(lost)}: their tools are not registered, or take "
        "other arguments than when the calls were made. Register them as they were"
    )
    journal.fail(refusal)
    return refusal


def doubt(question: Question, key: str = "") -> DoubtfulCall:
    """The question as the error that names it shows it."""
    return DoubtfulCall(
        question_id=question.id,
        tool=question.tool,
        arguments=question.arguments,
        key=key,
        idempotency_key=question.idempotency_key,
        owner_known_dead=question.owner_known_dead,
    )
