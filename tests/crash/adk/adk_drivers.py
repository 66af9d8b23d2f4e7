"""How a run is taken up and answered: through the bridge, or by ADK's own means alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.genai import types

CONFIRMATION, INPUT = "adk_request_confirmation", "adk_request_input"


class Asking(Protocol):
    """A question that is open, as the bridge describes it."""

    id: str
    tool: str
    arguments: Any
    cause: str
    request_id: Any
    inside: Sequence[Any]
    payload: Any


class Driver(Protocol):
    """What a client can do with a session."""

    def pending(self, session: Session) -> Sequence[Asking]: ...

    async def answer(self, session: Session, answers: Mapping[str, Any]) -> list[Event]: ...

    async def resume(self, session: Session) -> list[Event]: ...


class BridgeDriver:
    """The bridge's own means; a `plain` client resumes and answers as ADK's own clients do."""

    def __init__(self, runner: Runner, durable: Any, *, plain: bool, last: str) -> None:
        self._runner = runner
        self._durable = durable
        self._plain = plain
        self._last = last

    def pending(self, session: Session) -> Sequence[Asking]:
        found: Sequence[Asking] = self._durable.pending(session)
        return found

    async def answer(self, session: Session, answers: Mapping[str, Any]) -> list[Event]:
        if self._plain:
            said = {name: _confirmation(answer) for name, answer in answers.items()}
            return await plain_answer(self._runner, session, self.pending(session), said)
        events: list[Event] = await self._durable.answer(self._runner, session, dict(answers))
        return events

    async def resume(self, session: Session) -> list[Event]:
        if self._plain:
            return await plain_resume(self._runner, session, self._last)
        events: list[Event] = await self._durable.resume(self._runner, session)
        return events


@dataclass
class Bare:
    """A question that is open, as the session shows it."""

    id: str
    tool: str
    arguments: Any
    invocation_id: str
    cause: str = "native"
    request_id: Any = None
    inside: Sequence[Any] = field(default_factory=list)
    payload: Any = None


class BareDriver:
    """ADK's own means: the red control, and the only way into a run without the bridge."""

    def __init__(self, runner: Runner, *, last: str) -> None:
        self._runner = runner
        self._last = last

    def pending(self, session: Session) -> Sequence[Asking]:
        answered = {
            response.id
            for event in session.events
            if event.author == "user"
            for response in event.get_function_responses()
        }
        return [
            Bare(
                call.id or "",
                *_about(call),
                event.invocation_id,
            )
            for event in session.events
            for call in event.get_function_calls()
            if call.name in (CONFIRMATION, INPUT) and call.id not in answered
        ]

    async def answer(self, session: Session, answers: Mapping[str, Any]) -> list[Event]:
        said = {name: {"confirmed": True} for name in answers}
        return await plain_answer(self._runner, session, self.pending(session), said)

    async def resume(self, session: Session) -> list[Event]:
        return await plain_resume(self._runner, session, self._last)


def _about(call: types.FunctionCall) -> tuple[str, Any]:
    args = call.args or {}
    about = args.get("originalFunctionCall") or {}
    payload = args.get("payload") or {}
    return about.get("name") or payload.get("tool_name"), about.get("args") or payload.get("args")


async def plain_resume(runner: Runner, session: Session, last: str) -> list[Event]:
    """Take up the newest invocation as ADK's own clients do; nothing when it ended."""
    if is_over(session, last):
        return []
    where: Any = {"user_id": session.user_id, "session_id": session.id}
    newest = session.events[-1].invocation_id
    return [event async for event in runner.run_async(**where, invocation_id=newest)]


async def plain_answer(
    runner: Runner, session: Session, asked: Sequence[Any], said: Mapping[str, dict[str, Any]]
) -> list[Event]:
    """Post these confirmations as ADK's own clients do."""
    parts = [
        _response(name, INPUT if name.startswith("wf_") else CONFIRMATION, confirmation)
        for name, confirmation in said.items()
    ]
    (invocation,) = {question.invocation_id for question in asked if question.id in said}
    return await post(runner, session, parts, invocation)


def _confirmation(answer: Any) -> dict[str, Any]:
    """The answer as a client of ADK posts it."""
    if isinstance(answer, str):
        return {"confirmed": answer == "approve"}
    if "type" in answer:
        return {"confirmed": True, "payload": answer}
    return {"confirmed": True, "payload": {"decisions": answer}}


async def post(
    runner: Runner,
    session: Session,
    parts: list[types.Part],
    invocation: str | None = None,
    run_name: str | None = None,
) -> list[Event]:
    """Say this as the user, under the name of a request."""
    message = types.Content(role="user", parts=parts)
    where: Any = {"user_id": session.user_id, "session_id": session.id}
    if invocation:
        where["invocation_id"] = invocation
    if run_name:
        where["run_config"] = RunConfig(custom_metadata={"agent_adapter_run": run_name})
    return [event async for event in runner.run_async(**where, new_message=message)]


def is_over(session: Session, last: str) -> bool:
    """Whether the newest event is the end of the last agent, or an output of the root."""
    newest = session.events[-1]
    ended = newest.actions.end_of_agent and newest.author == last
    return bool(ended or _is_output_of_root(newest))


def _is_output_of_root(event: Event) -> bool:
    path = event.node_info.path if event.node_info else ""
    return event.output is not None and path.count("/") == 0


def waiting_for_client(session: Session) -> list[tuple[str, types.Part]]:
    """The long-running calls that were answered with a ticket, and the client's answer to each with its invocation."""
    said_by_user = {
        response.id
        for event in session.events
        if event.author == "user"
        for response in event.get_function_responses()
    }
    found = []
    for event in session.events:
        for response in event.get_function_responses():
            told = response.response or {}
            if (
                told.get("status") == "pending"
                and "order" in told
                and response.id not in said_by_user
            ):
                done = {"order": told["order"], "by": "client"}
                found.append((event.invocation_id, _response(response.id, response.name, done)))
    return found


def _response(name: str | None, tool: str | None, response: dict[str, Any]) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=name, name=tool, response=response)
    )
