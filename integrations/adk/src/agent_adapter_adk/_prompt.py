"""What a model is shown when its agent is started again: its own earlier calls and their answers, and its last words."""

from collections.abc import Sequence

from google.adk.agents.context import Context
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from agent_adapter_adk._compat import MADE_ID, is_root, pairs_by_id
from agent_adapter_adk._events import calls_in, is_text, newest_first, responses_to
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

    A loop may start an agent once more: then the end of the agent's earlier turn stands behind its words. Only of the agent
    that the whole invocation is of that says nothing, since nothing starts it again.
    """
    if not run.resumed or len(ctx.session.events) > run.began_with:
        return None
    written = _mine(ctx.session.events, ctx)
    ended = bool(written) and bool(written[-1].actions.end_of_agent)
    if ended and not is_root(ctx):
        return None
    spoken = [event for event in written if event.content]
    if not spoken or not is_text(spoken[-1]):
        return None
    last = spoken[-1]
    return LlmResponse(content=last.content, finish_reason=last.finish_reason)


def show_own_calls(run: Run, ctx: Context, request: LlmRequest) -> bool:
    """Whether the request lacked the calls of this turn that stand in the session, and now has them with their answers.

    ADK starts an agent that is a node of a graph, or is called like a tool, with an empty prompt: it would plan a finished
    turn anew.
    """
    written = _mine(ctx.session.events, ctx)
    start = max(
        (n for n, e in enumerate(written) if is_text(e) or e.actions.end_of_agent), default=-1
    )
    turn = [event for event in written[start + 1 :] if calls_in(event)]
    calls = [call for event in turn for call in calls_in(event)]
    if not calls or _shows(request.contents, calls):
        return False
    answers = responses_to(ctx.session.events, {str(call.id) for call in calls})
    keep_ids = pairs_by_id(ctx)
    for event in turn:
        ids = [str(call.id) for call in calls_in(event)]
        if not all(name in answers for name in ids):
            continue
        parts = event.content.parts or [] if event.content else []
        request.contents.append(types.Content(role="model", parts=_shown(parts, keep_ids=keep_ids)))
        request.contents.append(
            types.Content(role="user", parts=_shown([answers[n] for n in ids], keep_ids=keep_ids))
        )
    return True


def _shows(contents: Sequence[types.Content], calls: Sequence[types.FunctionCall]) -> bool:
    """Whether any of these calls is in the prompt."""
    asked = [(call.name, call.args) for call in calls]
    return any(
        part.function_call and (part.function_call.name, part.function_call.args) in asked
        for content in contents
        for part in content.parts or []
    )


def _shown(parts: Sequence[types.Part], *, keep_ids: bool) -> list[types.Part]:
    """Copies for the request; ids that ADK made are its own affair, unless the provider pairs calls by id."""
    copies = [part.model_copy(deep=True) for part in parts]
    for part in copies if not keep_ids else ():
        for each in (part.function_call, part.function_response):
            if each is not None and each.id and each.id.startswith(MADE_ID):
                each.id = None
    return copies
