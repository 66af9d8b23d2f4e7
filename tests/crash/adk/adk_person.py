"""The person: approves what is asked about, and says of a call in doubt what is true, or always the same."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

from adk_drivers import Asking
from record import Record

# Of a call in doubt: the truth; always that it is to run; always that it happened; always that it is not to run.
Mood = Literal["honest", "rerun", "respond", "reject"]
BEFORE = ("approval", "native")
# What a person who says that a call happened says of it beyond that.
TOLD = {"flaky": {"error": "it raised"}, "render": {"status": "pending"}}


class Person:
    """Answers questions, and notes each answer before it is sent."""

    def __init__(self, record: Record, mood: Mood) -> None:
        self._record = record
        self._mood = mood

    def answer(self, questions: Sequence[Asking], stored: Collection[str]) -> dict[str, Any]:
        """What is said to each of these, by id; `stored` are those to which the session holds an answer already."""
        return {question.id: self._say(question, question.id in stored) for question in questions}

    def _say(self, question: Any, stored: bool) -> Any:
        if question.inside:
            return {each.request_id: self._say(each, stored) for each in question.inside}
        order, key = _order(question), _key(question)
        effects = self._record.read("effects")
        happened = sum(
            line["order"] == order and key in (line["key"] or key, None) for line in effects
        )
        said = (
            "approve" if question.cause in BEFORE else self._doubt(question.tool, order, happened)
        )
        self._record.add(
            "said",
            id=question.id,
            request=question.request_id,
            order=order,
            tool=question.tool,
            cause=question.cause,
            happened=happened,
            stored=stored,
            said=said,
        )
        return said

    def _doubt(self, tool: str, order: str, happened: int) -> Any:
        # A tool that raises whenever it runs is not run for ever.
        again = self._mood == "rerun" and not (happened and tool == "flaky")
        if again or (self._mood == "honest" and not happened):
            return "approve"
        if self._mood == "reject":
            return "reject"
        told = TOLD.get(tool, {})
        return {"type": "respond", "message": {"order": order, **told, "by": "person"}}


def _key(question: Any) -> str | None:
    """The call's idempotency key, None where the question does not say it."""
    shown = question.payload if isinstance(question.payload, dict) else {}
    asked = [
        each
        for each in shown.get("requests", [shown])
        if each.get("request_id") == question.request_id
    ]
    return asked[0].get("idempotency_key") if asked else None


def _order(question: Any) -> str:
    arguments = question.arguments
    found = arguments.get("order", "") if isinstance(arguments, dict) else ""
    return str(found)
