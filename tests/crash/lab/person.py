"""The person: what every open question is answered with, by its id or as a bare value."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from langgraph.types import Command, Interrupt
from record import Record

# What is said about a call in doubt: the truth; always that it happened; always that it is not to be run.
Mood = Literal["honest", "respond", "reject"]
Style = Literal["id", "bare"]


class Person:
    """Answers questions, and keeps what it sent before it sends it.

    What it says to a tool's own question reads like a decision about a call in doubt too, so that an answer that goes to the
    wrong question does harm.
    """

    def __init__(self, record: Record, *, mood: Mood, style: Style) -> None:
        self._record = record
        self._mood = mood
        self._style = style

    def answer(
        self, questions: Sequence[Interrupt], *, refused: Collection[str] = ()
    ) -> Command[Any]:
        """The command that answers all of them; a bare value only for a single one that was not refused one before."""
        answers = {question.id: self.decide(question.value) for question in questions}
        bare = self._style == "bare" and len(answers) == 1 and not set(answers) & set(refused)
        self._record.add("answers", bare=bare, answers=answers)
        return command(answers, bare=bare)

    def decide(self, value: Any) -> Any:
        """What is said to a question with this value."""
        if value.get("plain"):
            return "approve"
        if "ask" in value:
            return {"type": "respond", "message": f"told {uuid.uuid4().hex[:8]} {value['ask']}"}
        if "request_ids" not in value:
            return {"decisions": [{"type": "approve"} for _ in value["action_requests"]]}
        orders = [request["args"]["order"] for request in value["action_requests"]]
        return {"decisions": [self._doubt(order) for order in orders]}

    def _doubt(self, order: str) -> dict[str, str]:
        if self._mood == "reject":
            return {"type": "reject", "message": f"refused {order}"}
        if self._mood == "honest" and not self._record.effects()[order]:
            return {"type": "approve"}
        return {"type": "respond", "message": f"said {order}"}


def command(answers: Mapping[str, Any], *, bare: bool) -> Command[Any]:
    """The answers as LangGraph takes them."""
    return Command(resume=next(iter(answers.values())) if bare else dict(answers))
