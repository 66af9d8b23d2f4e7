"""Gaps of ADK, each mended in one place and each with a switch: how a paused or killed invocation is shown to ADK again.

ADK goes on with an invocation from the events of its session. After a crash it runs exactly the calls that have no response,
under their own ids. After an answer it has other ways, which forget answers, ask nobody a second time, or end an agent early.
So every way on is made the first one: before a run goes on, ADK's list of events (in memory, never what is stored) is
rewritten to what it would be if the process had died before anything was asked. Decisions reach their calls through the record.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk._compat import CONFIRMATION, EARLY_EXIT
from agent_adapter_adk._events import (
    answered_calls,
    calls_in,
    is_placeholder,
    newest_first,
    parts_of,
)

HELD = "agent_adapter_waits"
# On long-running calls of a model: those of a node of another kind are no tools that ADK could run.
ASKED_BY_MODEL = "agent_adapter_asked_by_model"


@dataclass(frozen=True, kw_only=True)
class Mends:
    """Switches for the mends, all on; each can be turned off once ADK needs it no more.

    Attributes:
        replay: answered questions are taken out of the events that ADK sees, so that the calls run by its replay. ADK's own
            way reads only the newest answer, and never asks again (https://github.com/google/adk-python/issues/5450).
        hold: a run does nothing while a question of its invocation is open. ADK ends the agent of a sequence or graph at
            the first of several answers.
        partial: a batch that was interrupted goes on with exactly the calls that have no response
            (https://github.com/google/adk-python/issues/7108).
        graphs: where a graph stands is shown before the calls that are open: ADK takes a call after which something was written
            for one that waits for somebody, and the graph's own note of its place may come before its agent looks.
        errors: so is it with the event that says that an agent or node failed: ADK would give its open calls up.
        long_running: a long-running call does not keep its unfinished siblings from running.
        ended: an invocation that is over repeats its last words and asks no model; ADK would run everything again.
        prompt: an agent that is started again is shown its own earlier calls.
        handover: a turn that hands over to another agent, or leaves a loop, does so once its other calls are decided. ADK goes
            at once, and their questions are never asked.
        resumable: a named run of an app that is not resumable is resumed all the same when it is answered.
    """

    replay: bool = True
    hold: bool = True
    partial: bool = True
    graphs: bool = True
    errors: bool = True
    long_running: bool = True
    ended: bool = True
    prompt: bool = True
    handover: bool = True
    resumable: bool = True


@dataclass(frozen=True)
class View:
    """The events as ADK is to see them.

    Attributes:
        shown: what its session holds from now on.
        long_running: by call id, the place in `shown` of an event that is to be marked as long-running again, and its
            original.
    """

    shown: list[Event]
    long_running: dict[str, tuple[Event, Event]]


def view_of(
    events: Sequence[Event], invocation: str, finished: frozenset[str], mends: Mends
) -> View:
    """How ADK is to see the session while it goes on with the invocation; every question of it is answered.

    Args:
        events: the session's.
        invocation: the invocation's id.
        finished: ids of long-running calls that have run, and wait for their client.
        mends: which mends are on.
    """
    shown: list[Event] = []
    for event in events:
        seen: Event | None = event
        if event.invocation_id == invocation:
            if is_hold(event):
                continue
            if mends.replay:
                seen = _without_exchange(event)
        if seen is not None:
            shown.append(seen)
    view = View(Shown(invocation, shown, mends), {})
    shown = view.shown
    for event in [e for e in shown if e.invocation_id == invocation and calls_in(e)]:
        _open_up(event, view, finished, mends)
    return view


class Shown(list[Event]):
    """Events of which those that only say how a graph or agent of the invocation fares come before its open calls."""

    def __init__(self, invocation: str, events: Sequence[Event], mends: Mends) -> None:
        begun = next(
            (n for n, e in enumerate(events) if e.invocation_id == invocation), len(events)
        )
        super().__init__(events[:begun])
        self._invocation = invocation
        self._mends = mends
        for event in events[begun:]:
            self.append(event)

    def append(self, event: Event) -> None:
        """Put the event at the end, or where it belongs."""
        at = len(self)
        if event.invocation_id == self._invocation and self._stands_aside(event):
            mine = list(newest_first(self, self._invocation))[::-1]
            answered = answered_calls(mine)
            open_calls = (e for e in mine if {str(call.id) for call in calls_in(e)} - answered)
            at = next((_place(self, each) for each in open_calls), at)
        self.insert(at, event)

    def _stands_aside(self, event: Event) -> bool:
        if parts_of(event):
            return False
        failed = self._mends.errors and bool(event.error_code)
        return failed or (self._mends.graphs and event.actions.agent_state is not None)


def is_hold(event: Event) -> bool:
    """Whether the event only says that a run was held because a question is open."""
    return bool(event.custom_metadata and event.custom_metadata.get(HELD))


def mark(event: Event, what: str) -> None:
    """Note this with the event before it is stored."""
    event.custom_metadata = {**(event.custom_metadata or {}), what: True}


def is_early_exit(event: Event) -> bool:
    """Whether a plugin ended the run with nothing to say."""
    return event.author == EARLY_EXIT and event.content is not None and not event.content.parts


def _without_exchange(event: Event) -> Event | None:
    """The event without ADK's questions, placeholders and posted answers; None when nothing is left of it."""
    parts = parts_of(event)
    kept = [part for part in parts if not _is_exchange(part, event)]
    if len(kept) == len(parts):
        return event
    if not kept:
        return None
    actions = event.actions.model_copy(
        update={"requested_tool_confirmations": {}, "skip_summarization": None}
    )
    content = types.Content(role=event.content.role if event.content else None, parts=kept)
    return event.model_copy(update={"content": content, "actions": actions})


def _is_exchange(part: types.Part, event: Event) -> bool:
    call, response = part.function_call, part.function_response
    if call is not None:
        return call.name == CONFIRMATION
    if response is None:
        return False
    asked = response.id in event.actions.requested_tool_confirmations
    return response.name == CONFIRMATION or asked


def _open_up(event: Event, view: View, finished: frozenset[str], mends: Mends) -> None:
    """Let ADK see the event's unanswered calls as calls that never ran."""
    shown = view.shown
    ids = {str(call.id) for call in calls_in(event)}
    mine = [e for e in shown if e.invocation_id == event.invocation_id]
    unanswered = ids - answered_calls(mine)
    long_running = set(event.long_running_tool_ids or ()) & ids
    by_model = bool(event.custom_metadata and event.custom_metadata.get(ASKED_BY_MODEL))
    waiting = long_running & finished if by_model else long_running
    if not unanswered - waiting:
        return
    for later in mine[mine.index(event) + 1 :]:
        at = _place(shown, later)
        if mends.partial and _answers(later, ids) and later.author != "user":
            # ADK takes an agent's own later event for the end of the batch.
            shown[at] = later.model_copy(update={"author": "user"})
    if mends.long_running and event.long_running_tool_ids:
        replayed = event.model_copy(update={"long_running_tool_ids": None})
        shown[_place(shown, event)] = replayed
        view.long_running.update(dict.fromkeys(event.long_running_tool_ids, (replayed, event)))


def _answers(event: Event, ids: set[str]) -> bool:
    return any(
        response.id in ids and not is_placeholder(response, event)
        for response in event.get_function_responses()
    )


def _place(events: Sequence[Event], event: Event) -> int:
    """Where this very event stands; equal events are others."""
    return next(n for n, each in enumerate(events) if each is event)
