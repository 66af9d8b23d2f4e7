"""Open question → ADK's confirmation request; the posted confirmation → decisions, or nothing at all."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_adapter.exec.integration import (
    Answer,
    Decision,
    Edited,
    NotSealable,
    Question,
    check_plain,
    decode,
    read_answer,
    read_answers,
)

# How a payload that asks more than one thing at once lists its requests.
REQUESTS = "requests"
ID = "request_id"
# What a tool that asks from its own body is told.
BODY = ["approve", "reject"]
WAITS = "This call waits for a person's decision."


def payload_of(questions: Sequence[Question], note: str = "") -> dict[str, Any]:
    """What a person is shown about these questions, and may send back with `args` edited."""
    requests = [_request(question) for question in questions]
    shown = requests[0] if len(requests) == 1 else {REQUESTS: requests}
    return {**shown, "note": note} if note else shown


def hint_of(questions: Sequence[Question]) -> str:
    """The same in words."""
    return "\n".join(_words(question) for question in questions)


def _words(question: Question) -> str:
    if question.cause != "body":
        return question.describe()
    asked = decode(question.payload)
    return str(asked["hint"]) or f"Tool {question.tool!r} asks for a confirmation."


def _request(question: Question) -> dict[str, Any]:
    begun = question.cause != "approval"
    request: dict[str, Any] = {
        ID: question.request_id,
        "cause": question.cause,
        "tool": question.tool,
        "args": _shown(question.arguments),
        "decisions": ["approve", "respond", "reject"]
        if begun
        else ["approve", "edit", "respond", "reject"],
    }
    if question.cause == "body":
        return {**request, "asks": decode(question.payload)["payload"], "decisions": BODY}
    if begun:
        # What has not begun has no worker.
        request["owner_known_dead"] = question.owner_known_dead
        request["idempotency_key"] = question.idempotency_key
        request["detail"] = question.detail
    return request


def _shown(arguments: Any) -> Any:
    """The arguments as the model gave them; those that hold classes stay in their stored form."""
    try:
        plain = decode(arguments)
        check_plain(plain)
    except NotSealable:
        return arguments
    return plain


def questions_in(shown: Any) -> list[Question]:
    """Our questions in a payload that a person was shown; none in any other payload."""
    if not isinstance(shown, dict):
        return []
    requests = shown.get(REQUESTS, [shown])
    if not isinstance(requests, list):
        return []
    return [
        Question(
            id=request[ID].removeprefix("q-"),
            cause=request.get("cause", "died"),
            tool=str(request.get("tool", "")),
            arguments=request.get("args"),
            call_id="",
            idempotency_key=str(request.get("idempotency_key", "")),
            owner_known_dead=bool(request.get("owner_known_dead")),
            detail=str(request.get("detail", "")),
        )
        for request in requests
        if isinstance(request, dict) and isinstance(request.get(ID), str)
    ]


class Confirmed:
    """A confirmation as it was plainly posted.

    Attributes:
        confirmed: the person's yes or no.
        payload: what came with it.
    """

    def __init__(self, confirmed: bool, payload: Any) -> None:
        self.confirmed = confirmed
        self.payload = payload


def read_confirmation(response: Any) -> Confirmed | None:
    """The posted confirmation, or None when it does not plainly say yes or no.

    Read: `{"confirmed": true | false, "payload": …, "hint": …}`, the same in a JSON string as `{"response": "…"}`, and,
    for a node, as `{"result": …}`.
    """
    if isinstance(response, dict) and response.keys() == {"result"}:
        response = response["result"]
    if isinstance(response, dict) and response.keys() == {"response"}:
        try:
            response = json.loads(response["response"])
        except (TypeError, ValueError):
            return None
    if not isinstance(response, dict) or not response.keys() <= {"confirmed", "payload", "hint"}:
        return None
    confirmed = response.get("confirmed")
    return Confirmed(confirmed, response.get("payload")) if isinstance(confirmed, bool) else None


def read_decisions(said: Confirmed, shown: Any) -> dict[str, Decision]:
    """Decisions by question id; empty when the confirmation does not plainly decide everything that was shown.

    A yes or no alone decides everything that was shown. What comes back with other `args` is an edit. A payload of its own
    is one decision (`{"type": …}`), `{"args": …}`, or `{"decisions": …}` by request id.
    """
    questions = questions_in(shown)
    payload = said.payload
    if payload in (None, {}) or payload == shown:
        found = {q.id: _word(said, q) for q in questions}
    elif len(questions) == 1 and questions[0].cause == "body":
        # The tool knows what it asked for.
        found = {questions[0].id: Answer({"confirmed": said.confirmed, "payload": payload})}
    elif not isinstance(payload, dict):
        return {}
    elif payload.keys() == {"decisions"}:
        return _complete(read_answers(payload["decisions"], questions), questions)
    elif len(questions) == 1 and "type" in payload:
        found = {questions[0].id: _typed(payload, said, questions[0])}
    elif len(questions) == 1 and payload.keys() == {"args"}:
        found = {questions[0].id: _edited(payload["args"], said, questions[0])}
    else:
        found = _sent_back(payload, said, questions, shown)
    return {} if None in found.values() else {q: d for q, d in found.items() if d is not None}


def _word(said: Confirmed, question: Question) -> Decision | None:
    """A yes or no alone; a tool that asked from its body is told of it."""
    if question.cause == "body":
        return Answer({"confirmed": said.confirmed, "payload": None})
    return read_answer("approve" if said.confirmed else "reject", question.tool, question.cause)


def _typed(payload: dict[str, Any], said: Confirmed, question: Question) -> Decision | None:
    if payload.get("type") == "edit" and payload.keys() == {"type", "args"}:
        return _edited(payload["args"], said, question)
    # A yes beside a refusal says nothing.
    refuses = payload.get("type") in ("reject", "ignore")
    return (
        read_answer(payload, question.tool, question.cause) if refuses != said.confirmed else None
    )


def _edited(args: Any, said: Confirmed, question: Question) -> Decision | None:
    """Other arguments for a call that has not begun: what may have happened cannot be changed any more."""
    fits = isinstance(args, dict) and all(isinstance(name, str) for name in args)
    return Edited(args) if fits and said.confirmed and question.cause == "approval" else None


def _sent_back(
    payload: dict[str, Any], said: Confirmed, questions: Sequence[Question], shown: Any
) -> dict[str, Decision | None]:
    """The requests as they were shown, some with other arguments."""
    back = payload.get(REQUESTS, [payload])
    before = shown.get(REQUESTS, [shown]) if isinstance(shown, dict) else []
    if not isinstance(back, list) or len(back) != len(before) or len(before) != len(questions):
        return dict.fromkeys((q.id for q in questions), None)
    found: dict[str, Decision | None] = {}
    for new, old, question in zip(back, before, questions, strict=True):
        if not isinstance(new, dict) or {**new, "args": None} != {**old, "args": None}:
            found[question.id] = None
        elif new.get("args") == old.get("args"):
            found[question.id] = _word(said, question)
        else:
            found[question.id] = _edited(new["args"], said, question)
    return found


def _complete(
    decisions: Mapping[str, Decision], questions: Sequence[Question]
) -> dict[str, Decision]:
    return dict(decisions) if decisions.keys() == {q.id for q in questions} else {}


def response_for(shown: Any, answer: Any) -> dict[str, Any] | None:
    """The confirmation that says this answer, as ADK's own user interface posts it; None when it says none.

    Args:
        shown: the payload of the question.
        answer: "approve", "reject", True, False; one decision (`{"type": "approve" | "edit" | "respond" | "reject", …}`);
            decisions by request id; or a whole confirmation. ADK's own question takes a yes, a no, or a whole confirmation.
    """
    if isinstance(answer, dict) and "confirmed" in answer:
        response = answer
    elif answer is True or answer in ("approve", {"type": "approve"}):
        response = {"confirmed": True}
    elif answer is False or answer in ("reject", {"type": "reject"}):
        response = {"confirmed": False}
    elif not isinstance(answer, dict) or not questions_in(shown):
        # ADK's own question takes a yes or a no: it would read anything else as a yes.
        return None
    elif "type" in answer:
        response = {"confirmed": answer["type"] not in ("reject", "ignore"), "payload": answer}
    else:
        response = {"confirmed": True, "payload": {"decisions": answer}}
    said = read_confirmation(response)
    readable = said is not None and (not questions_in(shown) or read_decisions(said, shown))
    return response if readable else None
