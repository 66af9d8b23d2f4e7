"""What a model is shown when its agent is started again: its own earlier calls and their answers, and its last words."""

from collections.abc import Sequence
from itertools import takewhile

from google.adk.agents.context import Context
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from agent_adapter_adk._compat import MADE_ID, is_called, pairs_by_id, starts_once
from agent_adapter_adk._events import (
    answered_calls,
    calls_in,
    is_text,
    newest_first,
    parts_of,
    responses_to,
)
from agent_adapter_adk._run import Run


def _mine(events: Sequence[Event], ctx: Context) -> list[Event]:
    """What this agent, in this very place, wrote in this invocation."""
    found = [
        event
        for event in newest_first(events, ctx.invocation_id)
        if event.author == ctx.agent_name
        and event.branch == ctx.branch
        and event.isolation_scope == ctx.isolation_scope
        and (not event.node_info.path or not ctx.node_path or event.node_info.path == ctx.node_path)
    ]
    return found[::-1]


def last_words(run: Run, ctx: Context) -> LlmResponse | None:
    """The stored end of a turn that was over when this run began; None while it is not.

    A loop or a transfer may start an agent once more: then the end of the agent's earlier turn stands behind its words. That
    says nothing of an agent that the invocation ended with, that a call has started, or that nothing starts a second time.
    """
    if not run.resumed:
        return None
    written = _mine(ctx.session.events, ctx)
    if not written or written[-1].id not in run.began_with:
        return None
    ended = bool(written[-1].actions.end_of_agent)
    over = run.ended_by == ctx.agent_name
    if ended and not (over or starts_once(ctx) or is_called(ctx)):
        return None
    spoken = [event for event in written if event.content]
    if not spoken or _is_answered(spoken, ctx):
        return None
    last = spoken[-1]
    if is_text(last):
        return LlmResponse(content=last.content, finish_reason=last.finish_reason)
    # A turn may also end without words.
    return LlmResponse(content=types.Content(role="model", parts=[])) if ended else None


def _is_answered(spoken: Sequence[Event], ctx: Context) -> bool:
    """Whether somebody has answered one of these calls since the last words, or still has to."""
    calls = {str(call.id) for event in spoken for call in calls_in(event)}
    since = takewhile(
        lambda e: e is not spoken[-1], newest_first(ctx.session.events, ctx.invocation_id)
    )
    answers = {response.id for event in since for response in event.get_function_responses()}
    open_calls = calls - answered_calls(ctx.session.events)
    return bool(calls & answers) or (bool(open_calls) and not is_text(spoken[-1]))


def note_start(run: Run, ctx: Context) -> None:
    """Note whether an agent that is started has made calls of its turn before; one that has not sees all that it makes."""
    if _own_turn(ctx):
        run.began_again.add(_place(ctx))


def _place(ctx: Context) -> tuple[str | None, ...]:
    return ctx.agent_name, ctx.branch, ctx.isolation_scope, ctx.node_path


def _own_turn(ctx: Context) -> list[Event]:
    """The events of the agent's calls since its last words."""
    written = _mine(ctx.session.events, ctx)
    start = max(
        (n for n, e in enumerate(written) if is_text(e) or e.actions.end_of_agent), default=-1
    )
    return [event for event in written[start + 1 :] if calls_in(event)]


def show_own_calls(run: Run, ctx: Context, request: LlmRequest) -> bool:
    """Whether the request lacked the calls of this turn that stand in the session, and now has them with their answers.

    ADK starts an agent that is a node of a graph, or is called like a tool, with an empty prompt, to which it then adds what
    comes after: the agent would plan a finished turn anew.
    """
    if _place(ctx) not in run.began_again:
        return False
    turn = _own_turn(ctx)
    answers = responses_to(ctx.session.events, {str(c.id) for e in turn for c in calls_in(e)})
    turn = [event for event in turn if all(str(call.id) in answers for call in calls_in(event))]
    lacking, at = _lacking(request.contents, turn)
    if not lacking or _is_compacted(ctx):
        return False
    keep_ids = pairs_by_id(ctx)
    for event in lacking:
        given = [answers[str(call.id)] for call in calls_in(event)]
        request.contents[at:at] = [
            types.Content(role="model", parts=_shown(parts_of(event), keep_ids=keep_ids)),
            types.Content(role="user", parts=_shown(given, keep_ids=keep_ids)),
        ]
        at += 2
    return True


def _is_compacted(ctx: Context) -> bool:
    """Whether ADK itself put a summary in the place of older events."""
    return any(
        event.actions.compaction for event in newest_first(ctx.session.events, ctx.invocation_id)
    )


def _lacking(contents: Sequence[types.Content], turn: list[Event]) -> tuple[list[Event], int]:
    """The first events of the turn that are not in the prompt, and where they belong: ADK shows the last ones or none."""
    first, place = len(turn), len(contents)
    for number in range(len(turn) - 1, -1, -1):
        asked = [(call.name, call.args) for call in calls_in(turn[number])]
        for at in range(place - 1, -1, -1):
            calls = [part.function_call for part in contents[at].parts or [] if part.function_call]
            if [(call.name, call.args) for call in calls] == asked:
                first, place = number, at
                break
    return turn[:first], place


def _shown(parts: Sequence[types.Part], *, keep_ids: bool) -> list[types.Part]:
    """Copies for the request; ids that ADK made are its own affair, unless the provider pairs calls by id."""
    copies = [part.model_copy(deep=True) for part in parts]
    for part in copies if not keep_ids else ():
        for each in (part.function_call, part.function_response):
            if each is not None and each.id and each.id.startswith(MADE_ID):
                each.id = None
    return copies
