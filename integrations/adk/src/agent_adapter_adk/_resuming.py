"""Before an invocation goes on: the answers that were posted, the questions that are still open, and what ADK is shown."""

import gc
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.app import ResumabilityConfig
from google.adk.events.event import Event
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from agent_adapter.errors import (
    ApprovalConflict,
    CheckpointConflict,
    ConfigError,
    ToolUsageError,
)
from agent_adapter.exec.integration import Decision, Lease, digest
from agent_adapter_adk._approval import questions_in, read_confirmation, read_decisions
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import (
    Exchange,
    answered_calls,
    calls_in,
    exchanges,
    newest_first,
)
from agent_adapter_adk._identity import note_call
from agent_adapter_adk._mend import Shown, is_hold, view_of
from agent_adapter_adk._run import RUN_NAME, Held, Run


def decide(asked: Sequence[Exchange]) -> dict[str, Decision]:
    """What the answers decide: the first plain answer to each question counts."""
    found: dict[str, Decision] = {}
    for exchange in asked:
        for posted in exchange.posted:
            said = read_confirmation(posted)
            if said is not None and (decided := read_decisions(said, exchange.shown)):
                found.update(decided)
                break
    return found


def confirmations(asked: Sequence[Exchange]) -> dict[str, ToolConfirmation]:
    """The answers to ADK's own questions, by the id of the call: the first plain answer to the newest question counts."""
    found: dict[str, ToolConfirmation] = {}
    for exchange in asked:
        if exchange.call_id is None or questions_in(exchange.shown):
            continue
        said = [said for posted in exchange.posted if (said := read_confirmation(posted))]
        found.pop(exchange.call_id, None)
        if said:
            found[exchange.call_id] = ToolConfirmation(
                hint=exchange.hint, confirmed=said[0].confirmed, payload=said[0].payload
            )
    return found


def is_open(exchange: Exchange) -> bool:
    """Whether nobody has plainly answered the question, or the call itself."""
    return not exchange.over and not any(_is_plain(posted, exchange) for posted in exchange.posted)


def _is_plain(posted: Any, exchange: Exchange) -> bool:
    said = read_confirmation(posted)
    if said is None:
        return False
    return not questions_in(exchange.shown) or bool(read_decisions(said, exchange.shown))


def ended_by(events: Sequence[Event]) -> str | None:
    """The agent whose end was that of the invocation with these events: the one that began it, or was transferred to."""
    told = [event for event in events if event.author != "user" and not is_hold(event)]
    active = told[0].author if told else None
    for event in told:
        if event.author == active and event.actions.transfer_to_agent:
            active = event.actions.transfer_to_agent
    ended = bool(told) and told[-1].author == active and told[-1].actions.end_of_agent
    return active if ended and not _answered_since(told[-1], events) else None


def _answered_since(end: Event, events: Sequence[Event]) -> bool:
    """Whether a client has answered one of the calls after this end, so that there is something to go on with."""
    calls = {call.id for event in events for call in calls_in(event)}
    later = takewhile(lambda event: event is not end, reversed(events))
    return any(
        response.id in calls for event in later for response in event.get_function_responses()
    )


def check_answers(events: Sequence[Event], message: types.Content) -> None:
    """Nothing, when every answer to a question in this message can be read and none contradicts another one.

    Raises:
        ToolUsageError: an answer does not plainly say yes or no to what was shown; nothing was stored.
        ApprovalConflict: the question was answered differently before.
    """
    if not any(part.function_response for part in message.parts or []):
        return
    newest = {exchange.id: exchange for exchange in exchanges(events)}
    here: dict[str, dict[str, Any]] = {}
    for part in message.parts or []:
        response = part.function_response
        exchange = newest.get(response.id or "") if response else None
        if response is None or exchange is None:
            continue
        posted = dict(response.response or {})
        if not _is_plain(posted, exchange):
            raise ToolUsageError(
                f"the answer to {exchange.tool!r} (question {exchange.id}) was not understood, and nothing was decided. Post "
                '{"confirmed": true} or {"confirmed": false}, with a payload of {"type": "edit" | "respond" | "reject", …} '
                "where that is not enough"
            )
        earlier = next((each for each in exchange.posted if _is_plain(each, exchange)), None)
        earlier = earlier or here.setdefault(exchange.id, posted)
        if _said(earlier, exchange) != _said(posted, exchange):
            raise ApprovalConflict(
                f"the question {exchange.id} about {exchange.tool!r} was answered differently before; the first answer stands"
            )


def _said(posted: Any, exchange: Exchange) -> Any:
    said = read_confirmation(posted)
    if said is None:
        return None
    return read_decisions(said, exchange.shown) or (said.confirmed, said.payload)


class Resuming:
    """Takes up invocations for one core."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def arrive(self, run: Run, ic: InvocationContext, message: types.Content) -> None:
        """Check and note a message before ADK stores anything of it.

        Raises:
            ToolUsageError, ApprovalConflict: see `check_answers`.
            ConfigError: the run name stands for another message.
            CheckpointConflict: another live worker is at the invocation.
        """
        if not run.saved:
            return
        check_answers(ic.session.events, message)
        answers = any(part.function_response for part in message.parts or [])
        if run.name is not None and not answers:
            said = digest(message.model_dump(mode="json", exclude_none=True))
            if await self._core.ledger.keep(note_call(run), said) != said:
                raise ConfigError(
                    f"{RUN_NAME} {run.name!r} names a request with another message: one name is for one request"
                )
        await self.lease(run, ic)

    async def lease(self, run: Run, ic: InvocationContext) -> None:
        """Take the right to work on the invocation, once.

        Raises:
            CheckpointConflict: another live worker has it.
        """
        if run.outer is not None or run.lease is not None:
            return
        what = f"request {run.name!r}" if run.name else f"invocation {run.invocation}"
        lease = Lease(self._core.ledger, run.store_run, run.listing, what)
        try:
            await lease.take(wait_s=self._core.claim_wait_s)
        except CheckpointConflict:
            # A run of this process that was dropped without an end holds its lease only until it is collected.
            gc.collect()
            over_live = self._core.on_busy == "ask"
            await lease.take(wait_s=self._core.claim_wait_s, over_live=over_live)
        run.lease = Held(lease, ic.session)

    async def begin(self, run: Run, ic: InvocationContext) -> bool:
        """Whether the run may begin; what it goes on with is set up. False: a question of its invocation is open."""
        if not run.saved:
            # Nothing of it is recorded: it is ADK's alone.
            return True
        events = list(ic.session.events)
        ic.session.events = Shown(run.invocation, events, self._core.mends)
        if run.outer is not None:
            return True
        await self.lease(run, ic)
        mine = list(newest_first(events, run.invocation))[::-1]
        run.resumed = any(event.author != "user" for event in mine)
        run.ended_by = ended_by(mine)
        if run.resumed:
            asked = exchanges(events, run.invocation)
            run.decisions, run.confirmations = decide(asked), confirmations(asked)
            if self._core.mends.hold and await self._any_open(run, asked):
                return False
            finished = await self._long_running(run, events)
            view = view_of(events, run.invocation, finished, self._core.mends)
            ic.session.events = view.shown
            run.long_running = view.long_running
        if run.name is not None and not ic.is_resumable and self._core.mends.resumable:
            ic.resumability_config = ResumabilityConfig(is_resumable=True)
            run.resumable = True
        run.began_with = frozenset(event.id for event in mine)
        return True

    async def _any_open(self, run: Run, asked: Sequence[Exchange]) -> bool:
        """Whether something is asked that nobody answered and that did not settle itself.

        A node's question is ADK's own to wait for: other nodes go on meanwhile.
        """
        for exchange in asked:
            if exchange.call_id is None or not is_open(exchange):
                continue
            if not questions_in(exchange.shown):
                return True
            found = await self._core.ledger.log.find(run.store_run, run.call_key(exchange.call_id))
            if found is None or found[1].state != "done":
                return True
        return False

    async def _long_running(self, run: Run, events: Sequence[Event]) -> frozenset[str]:
        """The long-running calls without response that have run: they wait for their client."""
        mine = [event for event in events if event.invocation_id == run.invocation]
        answered = answered_calls(mine)
        found = set()
        for event in mine:
            for call in calls_in(event):
                if call.id in (event.long_running_tool_ids or ()) and call.id not in answered:
                    kept = await self._core.ledger.log.find(
                        run.store_run, run.call_key(str(call.id))
                    )
                    if kept is not None and kept[1].state == "done":
                        found.add(str(call.id))
        return frozenset(found)
