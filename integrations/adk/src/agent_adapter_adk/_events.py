"""Reading a session's events: calls, answers, and ADK's exchanges of question and answer about them. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from agent_adapter_adk._compat import CONFIRMATION, INPUT

Call = types.FunctionCall
Response = types.FunctionResponse


@dataclass
class Exchange:
    """One question of ADK about a call, and what was posted as its answer.

    Attributes:
        id: the id of ADK's own call that asks.
        invocation: the invocation that it was asked in.
        tool: the tool that is asked about.
        arguments: what the person was shown that it is called with.
        call_id: the id of the call that is asked about, None for a tool that is a node.
        hint: what the person was told.
        shown: the payload that the person was shown.
        posted: every answer that was posted, in order.
        over: the call has been answered since, by its tool or by a repair.
    """

    id: str
    invocation: str
    tool: str
    arguments: dict[str, Any]
    call_id: str | None
    hint: str
    shown: Any
    posted: list[dict[str, Any]] = field(default_factory=list)
    over: bool = False


def calls_in(event: Event) -> list[Call]:
    """The calls of tools that the event asks for; ADK's own questions are none."""
    return [
        call
        for call in event.get_function_calls()
        if call.id and call.name not in (CONFIRMATION, INPUT)
    ]


def is_placeholder(response: Response, event: Event) -> bool:
    """Whether the response only says that the call waits for somebody."""
    actions = event.actions
    return response.id in actions.requested_tool_confirmations or (
        response.id in actions.requested_auth_configs
    )


def answered_calls(events: Sequence[Event]) -> set[str]:
    """The ids of the calls that have a response, other than one that says that they wait."""
    return {
        response.id
        for event in events
        for response in event.get_function_responses()
        if response.id and not is_placeholder(response, event)
    }


def newest_first(events: Sequence[Event], invocation: str) -> Iterator[Event]:
    """The invocation's events from the newest to the message that began it; the rest of a long session is not looked at."""
    for event in reversed(events):
        if event.invocation_id != invocation:
            continue
        yield event
        if event.author == "user" and event.content and not event.get_function_responses():
            return


def find_call(events: Sequence[Event], call_id: str | None, invocation: str) -> Call | None:
    """The newest call of that id in the invocation."""
    for event in newest_first(events, invocation):
        for call in calls_in(event):
            if call.id == call_id:
                return call
    return None


def count_calls(events: Sequence[Event], call_id: str | None, invocation: str) -> int:
    """How many calls of the invocation have that id."""
    found = (call for event in newest_first(events, invocation) for call in calls_in(event))
    return sum(call.id == call_id for call in found)


def exchanges(events: Sequence[Event], invocation: str | None = None) -> list[Exchange]:
    """The questions of one invocation (None: of all), in the order asked, with their answers.

    A node asks again under the same id: an answer belongs to the newest question before it.
    """
    found: list[Exchange] = []
    newest: dict[str, Exchange] = {}
    for event in events:
        if invocation is not None and event.invocation_id != invocation:
            continue
        for call in event.get_function_calls():
            asked = _question(call, event.invocation_id)
            if asked is not None:
                found.append(asked)
                newest[asked.id] = asked
        answered = answered_calls([event])
        for exchange in found if answered else ():
            if exchange.invocation == event.invocation_id and exchange.call_id in answered:
                exchange.over = True
        if event.author == "user":
            for response in event.get_function_responses():
                if response.id in newest:
                    newest[response.id].posted.append(dict(response.response or {}))
    return found


def _question(call: Call, invocation: str) -> Exchange | None:
    args = call.args or {}
    if call.name == CONFIRMATION and call.id:
        original = args.get("originalFunctionCall") or {}
        confirmation = args.get("toolConfirmation") or {}
        return Exchange(
            id=call.id,
            invocation=invocation,
            tool=str(original.get("name") or ""),
            arguments=dict(original.get("args") or {}),
            call_id=original.get("id"),
            hint=str(confirmation.get("hint") or ""),
            shown=confirmation.get("payload"),
        )
    payload = args.get("payload") if call.name == INPUT else None
    if call.id and isinstance(payload, dict) and "tool_name" in payload:
        return Exchange(
            id=call.id,
            invocation=invocation,
            tool=str(payload["tool_name"]),
            arguments=dict(payload.get("args") or {}),
            call_id=None,
            hint=str(args.get("message") or ""),
            shown=payload.get("confirmation_payload"),
        )
    return None


def responses_to(events: Sequence[Event], ids: set[str]) -> dict[str, types.Part]:
    """The newest response to each of these calls, in the order of the events."""
    found: dict[str, types.Part] = {}
    for event in events:
        for part in parts_of(event):
            response = part.function_response
            if response and response.id in ids:
                found.pop(response.id, None)
                found[response.id] = part
    return found


def parts_of(event: Event) -> list[types.Part]:
    """The parts of the event's content."""
    return list(event.content.parts or []) if event.content else []


def is_text(event: Event) -> bool:
    """Whether the event is words of an agent that end its turn: no call, no response, not a part of a stream."""
    parts = parts_of(event)
    plain = not any(part.function_call or part.function_response for part in parts)
    spoken = any(part.text and not part.thought for part in parts)
    return plain and spoken and event.author != "user" and not event.partial


def by_invocation(events: Sequence[Event]) -> Iterator[tuple[str, list[Event]]]:
    """The events of each invocation, the invocations in the order begun."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.invocation_id, []).append(event)
    yield from found.items()
