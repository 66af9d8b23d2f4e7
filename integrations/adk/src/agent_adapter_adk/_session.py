"""A session from outside a run: its open questions, their answers, going on, and truthful repair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.session import Session
from google.genai import types

from agent_adapter.errors import ToolUsageError
from agent_adapter_adk._approval import questions_in, response_for
from agent_adapter_adk._compat import CONFIRMATION, INPUT
from agent_adapter_adk._core import Core
from agent_adapter_adk._events import (
    Exchange,
    answered_calls,
    by_invocation,
    calls_in,
    exchanges,
)
from agent_adapter_adk._resuming import ended_by, is_open
from agent_adapter_adk._run import RUN_NAME, Run
from agent_adapter_adk._signals import stops
from agent_adapter_adk._truth import answer_of

NATIVE = "native"


@dataclass(frozen=True)
class OpenQuestion:
    """One open question.

    Attributes:
        id: the id of ADK's own call that asks; the key of its answer.
        invocation_id: the invocation that waits.
        tool: the tool that is asked about.
        arguments: its arguments, as they were or would be used.
        cause: why it is asked: "approval", "died", "raised", …; "inside" for several questions from inside the call;
            "native" for ADK's own confirmation.
        hint: the question in words.
        request_id: what names the question in payloads; empty for ADK's own.
        inside: the questions from inside the call, where there are several.
        payload: what the person is shown.
    """

    id: str
    invocation_id: str
    tool: str
    arguments: Mapping[str, Any]
    cause: str
    hint: str
    request_id: str
    inside: tuple["OpenQuestion", ...]
    payload: Any


def pending(session: Session) -> list[OpenQuestion]:
    """The questions that nobody has answered; of those that a node asks again under one id, the newest."""
    newest = {exchange.id: exchange for exchange in exchanges(session.events)}
    overtaken = {
        exchange.call_id: exchange.id
        for exchange in newest.values()
        if exchange.call_id is not None
    }
    return [
        _pending(exchange)
        for exchange in newest.values()
        if is_open(exchange) and overtaken.get(exchange.call_id or "", exchange.id) == exchange.id
    ]


def _pending(exchange: Exchange) -> OpenQuestion:
    asked = questions_in(exchange.shown)

    def made(question: Any, inside: tuple[OpenQuestion, ...]) -> OpenQuestion:
        arguments = question.arguments if question else exchange.arguments
        return OpenQuestion(
            id=exchange.id,
            invocation_id=exchange.invocation,
            tool=question.tool if question else exchange.tool,
            arguments=arguments if isinstance(arguments, dict) else {},
            cause="inside" if inside else question.cause if question else NATIVE,
            hint=exchange.hint,
            request_id=question.request_id if question else "",
            inside=inside,
            payload=exchange.shown,
        )

    if len(asked) > 1:
        return made(None, tuple(made(question, ()) for question in asked))
    return made(asked[0] if asked else None, ())


async def answer(
    runner: Runner,
    session: Session,
    answers: Mapping[str, Any],
    run_config: RunConfig | None,
) -> list[Event]:
    """See `DurableTools.answer`."""
    open_now = {each.id: each for each in pending(session)}
    parts = []
    for name, said in answers.items():
        if name not in open_now:
            raise ToolUsageError(
                f"{name!r} is no open question of session {session.id!r}; see pending()"
            )
        response = response_for(open_now[name].payload, said)
        if response is None:
            raise ToolUsageError(
                f"{said!r} does not plainly answer question {name!r}; nothing was posted"
            )
        node = not any(
            call.id == name and call.name == CONFIRMATION
            for event in session.events
            for call in event.get_function_calls()
        )
        parts.append(
            types.Part(
                function_response=types.FunctionResponse(
                    id=name, name=INPUT if node else CONFIRMATION, response=response
                )
            )
        )
    return [
        event
        async for event in runner.run_async(
            user_id=session.user_id,
            session_id=session.id,
            new_message=types.Content(role="user", parts=parts),
            run_config=run_config,
        )
    ]


async def resume(
    runner: Runner, session: Session, invocation_id: str | None, run_config: RunConfig | None
) -> list[Event]:
    """See `DurableTools.resume`."""
    begun = dict(by_invocation(session.events))
    name = invocation_id or next(reversed(begun), None)
    events = begun.get(name or "", [])
    if not events or name is None or ended_by(events) is not None:
        return []
    if any(is_open(each) for each in exchanges(events) if each.call_id is not None):
        return []
    return [
        event
        async for event in runner.run_async(
            user_id=session.user_id,
            session_id=session.id,
            invocation_id=name,
            run_config=run_config,
        )
    ]


async def repair(core: Core, runner: Runner, session: Session) -> list[Event]:
    """See `DurableTools.repair`."""
    stored = []
    for invocation, events in by_invocation(session.events):
        answered = answered_calls(events)
        run = Run(
            place=(session.app_name, session.user_id, session.id, invocation),
            name=_name_of(events),
            outer=None,
        )
        for event in events:
            parts = []
            for call in calls_in(event):
                if call.id in answered:
                    continue
                with stops():
                    said = await answer_of(core, run, str(call.id), call.name or "")
                parts.append(
                    types.Part(
                        function_response=types.FunctionResponse(
                            id=call.id, name=call.name, response=said
                        )
                    )
                )
            if parts:
                repaired = Event(
                    invocation_id=invocation,
                    author=event.author,
                    branch=event.branch,
                    isolation_scope=event.isolation_scope,
                    content=types.Content(role="user", parts=parts),
                )
                stored.append(await runner.session_service.append_event(session, repaired))
    return stored


def _name_of(events: Sequence[Event]) -> str | None:
    return next(
        (
            event.custom_metadata[RUN_NAME]
            for event in events
            if event.custom_metadata and RUN_NAME in event.custom_metadata
        ),
        None,
    )
