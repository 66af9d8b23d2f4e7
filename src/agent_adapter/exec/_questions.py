"""Questions about calls and the strict reading of their answers: one parser for every bridge.

A question names one exact attempt: its id is derived from the record's nonce, so an answer fits no other
attempt. What an answer does not say plainly it does not say at all: unknown, empty, short or malformed
answers decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_adapter.exec._decide import Answered

Cause = Literal[
    "approval", "died", "raised", "cancelled", "busy", "unrecordable", "changed", "fork", "body"
]

CAUSES: Mapping[Cause, str] = {
    "approval": "it has not begun and needs a person's approval",
    "died": "its worker stopped before a result was recorded",
    "raised": "the tool raised an error after it had begun",
    "cancelled": "it was cancelled after it had begun",
    "busy": "its worker has not reported a result and is not known to be dead",
    "unrecordable": "it ran, but its result could not be stored",
    "changed": "this call already ran with other arguments",
    "fork": "this call already ran on another branch of the thread",
    "body": "the tool itself asks",
}


@dataclass(frozen=True)
class Rerun:
    """Run the call again; whoever says so has checked that this does no harm."""


@dataclass(frozen=True)
class Happened:
    """The effect took place; `value` is the call's result."""

    value: Any = None


@dataclass(frozen=True)
class DoNotRun:
    """Do not run the call; the model is told so, with the reason."""

    reason: str = ""


@dataclass(frozen=True)
class DidNotHappen:
    """What a `reconcile` probe returns when the effect did not take place."""


@dataclass(frozen=True)
class Unknown:
    """What a `reconcile` probe returns when it cannot tell."""


@dataclass(frozen=True)
class Answer:
    """A value for a tool that asked from inside its own body."""

    value: Any


@dataclass(frozen=True)
class Edited:
    """Run a call that has not begun, with these arguments in place of those that were shown."""

    arguments: Mapping[str, Any]


Decision = Rerun | Edited | Happened | DoNotRun | Answer


@dataclass(frozen=True)
class Question:
    """One open question about one exact attempt of one call.

    Attributes:
        id: 32 hex digits; derived from the attempt, so the next attempt has another.
        cause: why it is asked.
        tool: the tool's name.
        arguments: the arguments of the attempt, as they were really used.
        call_id: the id that the model gave to the call.
        idempotency_key: what the attempt gave to the outside service, to look it up there.
        owner_known_dead: False means: the worker may still be at it, "run again" can then give two effects.
        detail: the error's text, or where a result could not be stored.
        payload: for `cause="body"`: what the tool asks.
        schema: for `cause="body"`: the JSON schema of the answer, where the tool gave one.
        asked_with: set when the question was stored before this visit: a digest of the bare answer that was
            around then.
    """

    id: str
    cause: Cause
    tool: str
    arguments: Any
    call_id: str
    idempotency_key: str
    owner_known_dead: bool
    detail: str = ""
    payload: Any = None
    schema: Any = None
    asked_with: str | None = None

    @property
    def request_id(self) -> str:
        """The question's name in payloads; never 32 bare hex digits, which LangGraph would take for an interrupt id."""
        return f"q-{self.id}"

    def describe(self) -> str:
        """One sentence for the person who decides."""
        if self.cause == "approval":
            return (
                f"Tool {self.tool!r} wants to run with these arguments. approve = run it, edit = run it with others, "
                "respond = do not run it, this is the result, reject = do not run it."
            )
        text = f"Tool {self.tool!r} may already have taken effect: {CAUSES[self.cause]}"
        if self.detail:
            text += f" ({self.detail})"
        liveness = "known to be dead" if self.owner_known_dead else "NOT known to be dead"
        return (
            f"{text}. The worker that ran it is {liveness}. Idempotency key: {self.idempotency_key}. "
            "approve = run it again, respond = it happened and this is the result, reject = do not run it."
        )


def answered(decision: Decision | None) -> Answered | None:
    """The decision as a fact for `next_step`."""
    match decision:
        case Rerun():
            return "rerun"
        case Edited():
            return "edit"
        case Happened():
            return "happened"
        case DoNotRun():
            return "do_not_run"
        case Answer():
            return "answer"
        case None:
            return None


def read_answer(value: Any, tool: str = "", cause: Cause = "died") -> Decision | None:
    """One decision about a call, or None when the value does not plainly say one.

    Read: `{"type": "approve" | "respond" | "reject", …}`, the older inbox form `{"type": "accept" |
    "response" | "ignore", "args": …}` (alone or in a list of one), `True`/`False`, and the words "approve"
    and "reject". `edit`, in either form, is read for a call that has not begun (cause "approval") and names the same
    tool: what may have happened cannot be changed any more.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is True or value == "approve":
        return Rerun()
    if value is False or value == "reject":
        return DoNotRun()
    if not isinstance(value, dict):
        return None
    if value.get("type") == "edit":
        return _edit(value, tool) if cause == "approval" else None
    return _typed(value, tool)


def _edit(value: dict[Any, Any], tool: str) -> Decision | None:
    """Other arguments for the same tool, and nothing else."""
    match value:
        case {"type": "edit", "edited_action": {"name": name, "args": dict(args), **more}, **rest}:
            pass
        case {"type": "edit", "args": {"action": name, "args": dict(args), **more}, **rest}:
            pass
        case _:
            return None
    named = name == tool and all(isinstance(key, str) for key in args)
    return Edited(args) if named and not more and not rest else None


def _typed(value: dict[Any, Any], tool: str) -> Decision | None:
    match value.get("type"):
        case "approve" if value.keys() == {"type"}:
            return Rerun()
        case "accept" if value.keys() <= {"type", "args"} and _names(value.get("args"), tool):
            return Rerun()
        case "respond" if value.keys() == {"type", "message"}:
            return Happened(value["message"])
        case "response" if value.keys() == {"type", "args"}:
            return Happened(value["args"])
        case "reject" if value.keys() <= {"type", "message"}:
            return _refusal(value.get("message"))
        case "ignore" if value.keys() <= {"type", "args"} and value.get("args") is None:
            return DoNotRun()
    return None


def _names(accepted: Any, tool: str) -> bool:
    """Whether an inbox's "accept" accepts this tool's call; it may send the request back that it was shown."""
    return accepted is None or (
        isinstance(accepted, dict) and tool != "" and accepted.get("action") == tool
    )


def _refusal(message: Any) -> Decision | None:
    if message is None:
        return DoNotRun()
    return DoNotRun(message) if isinstance(message, str) else None


def read_answers(value: Any, questions: Sequence[Question]) -> dict[str, Decision]:
    """Decisions by question id; empty when the answer cannot be matched to these questions beyond doubt.

    A list of decisions counts by position and only at full length. A mapping counts by request id or by call
    id (a call id that two questions share names none), and every key has to be one of these questions.
    """
    if not questions:
        return {}
    if isinstance(value, dict) and value.keys() == {"decisions"}:
        return _by_position(value["decisions"], questions)
    if len(questions) == 1 and (decision := _read(value, questions[0])) is not None:
        return {questions[0].id: decision}
    if isinstance(value, dict):
        return _by_name(value, questions)
    return _by_position(value, questions)


def _read(value: Any, question: Question) -> Decision | None:
    return read_answer(value, question.tool, question.cause)


def _by_position(decisions: Any, questions: Sequence[Question]) -> dict[str, Decision]:
    if not isinstance(decisions, list) or len(decisions) != len(questions):
        return {}
    read = [_read(d, q) for d, q in zip(decisions, questions, strict=True)]
    return (
        {q.id: d for q, d in zip(questions, read, strict=True) if d is not None}
        if None not in read
        else {}
    )


def _by_name(answers: dict[Any, Any], questions: Sequence[Question]) -> dict[str, Decision]:
    names: dict[str, Question | None] = {}
    for question in questions:
        names[question.call_id] = None if question.call_id in names else question
    names.update({question.request_id: question for question in questions})
    decisions: dict[str, Decision] = {}
    for name, answer in answers.items():
        named = names.get(name)
        decision = _read(answer, named) if named else None
        if named is None or decision is None or named.id in decisions:
            return {}
        decisions[named.id] = decision
    return decisions
