"""Open question → interrupt with its own id; answer by id, or the one bare answer that can be meant → decision."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from agent_adapter.exec.integration import (
    Answer,
    CallId,
    Decision,
    Ledger,
    NotSealable,
    Question,
    check_plain,
    decode,
    digest,
    encode,
    read_answers,
    stable_hash,
)
from agent_adapter_langgraph._compat import RESUME_MAP, bare_answer, take_bare_answer
from agent_adapter_langgraph._messages import MESSAGES
from agent_adapter_langgraph._visit import Visit

logger = logging.getLogger(__name__)
NOBODY = "nobody"
UNREADABLE = "unreadable"
CANNOT_BE_KEPT = "the answer holds something other than plain data, so it could not be kept for a tool that starts again"
MISFIT = (
    "the answer was not understood, or did not fit these requests; nothing was decided. Give one decision for one request, "
    '{"decisions": [one for each, in order]}, or decisions by call id'
)
BY_ID = "answer by interrupt id (Command(resume={id: answer})), or name the request"


@dataclass(frozen=True)
class Answers:
    """What people said to the open questions of one task.

    Attributes:
        decisions: by question id.
        bare: a digest of the answer without a name that is around, empty when there is none.
        note: why an answer that is around decided nothing, for whoever is asked again.
    """

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    bare: str = ""
    note: str = ""


class Parked(GraphInterrupt):
    """The pause of a task whose calls wait for a person.

    Args:
        questions: what is asked.
        note: why an answer that is around decided nothing.
        others: interrupts beside that of these questions.
    """

    def __init__(
        self, questions: Sequence[Question], note: str = "", others: Sequence[Interrupt] = ()
    ) -> None:
        super().__init__((*interrupts_of(questions, note), *others))
        self.questions = tuple(questions)
        self.note = note


def interrupts_of(questions: Sequence[Question], note: str = "") -> list[Interrupt]:
    """One interrupt for all calls in doubt together, and one for each tool that itself asks."""
    doubts, bodies = _split(questions)
    found = [Interrupt(value=_request(doubts, note), id=_id(doubts))] if doubts else []
    return found + [Interrupt(value=_payload(q), id=q.id, response_schema=q.schema) for q in bodies]


async def read(ledger: Ledger, visit: Visit, calls: Sequence[CallId]) -> Answers:
    """The decisions that the answers around this visit make for these calls, the calls of one task."""
    named: Mapping[str, Any] = visit.configurable.get(RESUME_MAP) or {}
    value = bare_answer(visit.configurable)
    bare = _bare_digest(value)
    if not named and value is None:
        return Answers()
    questions = [
        question for call in calls if (question := await ledger.open_question(call)) is not None
    ]
    decisions, note = _read_named(named, questions)
    if value is not None and named:
        # Somebody answers by id now; what an earlier worker left must not answer the question that is left.
        await ledger.use_once(_bare_use(visit, bare), NOBODY)
    elif value is not None and questions:
        decisions, note = await _read_bare(ledger, visit, calls, questions, value)
    return Answers(decisions, bare, note)


def _read_named(
    named: Mapping[str, Any], questions: Sequence[Question]
) -> tuple[dict[str, Decision], str]:
    """What the answers by interrupt id decide, and why one of them did not."""
    doubts, bodies = _split(questions)
    given = {q.id: named[q.id] for q in bodies if q.id in named}
    decisions: dict[str, Decision] = {
        name: Answer(said) for name, said in given.items() if _can_be_kept(said)
    }
    note = "" if len(decisions) == len(given) else CANNOT_BE_KEPT
    if doubts and _id(doubts) in named:
        decided = read_answers(named[_id(doubts)], doubts)
        decisions.update(decided)
        note = note if decided else MISFIT
    return decisions, note


async def _read_bare(
    ledger: Ledger, visit: Visit, calls: Sequence[CallId], questions: Sequence[Question], value: Any
) -> tuple[dict[str, Decision], str]:
    """What the answer without a name decides: nothing, unless exactly one question can be meant."""
    doubts, bodies = _split(questions)
    bare = _bare_digest(value)
    decided: dict[str, Decision] = {}
    if not _shown_alone(questions, await _open(ledger, calls), bare):
        note = f"a bare answer may be meant for another question: {BY_ID}"
    elif bodies and not _can_be_kept(value):
        note = CANNOT_BE_KEPT
    else:
        decided = {q.id: Answer(value) for q in bodies} or read_answers(value, doubts)
        note = "" if decided else MISFIT
    if note:
        logger.warning("a bare answer decided nothing: %s", note)
    # A refused answer is used up as well: LangGraph keeps it with the checkpoint, for whatever question is left alone.
    by = ",".join(sorted(decided)) or NOBODY
    if not await ledger.use_once(_bare_use(visit, bare), by):
        return {}, f"this bare answer was already used, or refused: {BY_ID}"
    if decided:
        take_bare_answer(visit.configurable)
    return decided, note


def _bare_use(visit: Visit, bare: str) -> CallId:
    """Where it is kept what a bare answer was used for: one answer of a checkpoint answers one question."""
    checkpoints: Mapping[str, str] = visit.configurable.get("checkpoint_map") or {}
    root = checkpoints.get("", visit.namespace)
    return CallId(
        run=f"lg-{stable_hash('bare', visit.thread, root)}",
        name=visit.listing,
        key=bare[:32],
        call_id="",
        tool="bare-answer",
        digest=bare,
        scope="",
    )


def storable(payload: Any) -> Any:
    """What a tool asks, encoded for the record; what cannot be stored is only named by its type."""
    try:
        encoded = encode(payload)
        decode(encoded, known=MESSAGES)
    except NotSealable as refused:
        return {"note": f"the tool asked with a value that cannot be stored ({refused})"}
    return encoded


def _can_be_kept(answer: Any) -> bool:
    """Whether the answer can be stored and given to the tool again, exactly."""
    try:
        decode(encode(answer), known=MESSAGES)
    except NotSealable:
        return False
    return True


def _split(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    return [q for q in questions if q.cause != "body"], [q for q in questions if q.cause == "body"]


def _id(doubts: Sequence[Question]) -> str:
    return (
        doubts[0].id
        if len(doubts) == 1
        else stable_hash("together", *sorted(q.id for q in doubts))[:32]
    )


def _request(doubts: Sequence[Question], note: str) -> dict[str, Any]:
    """The ecosystem's human-in-the-loop request, with the names that tie each answer to its call."""
    request: dict[str, Any] = {
        "action_requests": [
            {
                "name": q.tool,
                "args": _shown(q.arguments),
                "description": q.describe(),
            }
            for q in doubts
        ],
        "review_configs": [
            {"action_name": name, "allowed_decisions": _allowed(name, doubts)}
            for name in dict.fromkeys(q.tool for q in doubts)
        ],
        "tool_call_ids": [q.call_id for q in doubts],
        "request_ids": [q.request_id for q in doubts],
        "causes": [q.cause for q in doubts],
        # What has not begun has no worker.
        "owner_known_dead": [None if q.cause == "approval" else q.owner_known_dead for q in doubts],
    }
    return {**request, "note": note} if note else request


def _shown(arguments: Any) -> dict[str, Any]:
    """The arguments as the model gave them; those that hold classes stay in their stored form."""
    try:
        plain = decode(arguments)
        check_plain(plain)
    except NotSealable:
        plain = arguments
    return plain if isinstance(plain, dict) else {}


def _allowed(tool: str, questions: Sequence[Question]) -> list[str]:
    """What may be said about every question of this tool: what may have happened cannot be edited."""
    unbegun = all(q.cause == "approval" for q in questions if q.tool == tool)
    return ["approve", "edit", "respond", "reject"] if unbegun else ["approve", "respond", "reject"]


def _payload(question: Question) -> Any:
    return decode(question.payload, known=MESSAGES)


def _shown_alone(questions: Sequence[Question], open_ids: frozenset[str], bare: str) -> bool:
    """Whether exactly one interrupt is open in the task, was stored before this pass, and this answer came after it."""
    doubts, bodies = _split(questions)
    one = len(bodies) + bool(doubts) == 1 and open_ids == {q.id for q in questions}
    return one and bare != UNREADABLE and all(q.asked_with != bare for q in questions)


async def _open(ledger: Ledger, calls: Sequence[CallId]) -> frozenset[str]:
    return frozenset().union(*[await ledger.open_questions(call.run, call.scope) for call in calls])


def _bare_digest(value: Any) -> str:
    if value is None:
        return ""
    try:
        return digest(encode(value))
    except NotSealable:
        return UNREADABLE
