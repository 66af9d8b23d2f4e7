"""Why a call is left without an outcome (a question, a lost claim, another answer), and what its records share."""

import secrets
from typing import Any

from agent_adapter.errors import ApprovalConflict
from agent_adapter.exec._entries import CallId, Entry
from agent_adapter.exec._questions import Question


class Asked(Exception):
    """Only a person can say what became of a call; the bridge turns this into its framework's pause.

    Attributes:
        question: what is asked.
        note: why an answer that was given decided nothing; empty when there was none.
    """

    def __init__(self, question: Question, *, note: str = "") -> None:
        super().__init__(question)
        self.question = question
        self.note = note


class ClaimLost(Exception):
    """Somebody else claimed the call first; look at it again."""


def refuse_other_answer(call: CallId, decision: Any, standing: Entry) -> None:
    """Nothing, unless the standing record used another answer to the same question.

    Raises:
        ApprovalConflict: it did.
    """
    used = standing.decision
    if used and used["question"] == decision["question"] and _said(used) != _said(decision):
        raise ApprovalConflict(
            f"call {call.call_id!r} of tool {call.tool!r}: question {decision['question']} was already answered "
            "differently; the first answer stands and nothing ran for this one"
        )


def _said(decision: Any) -> Any:
    """What was decided; who said it and why does not count."""
    return decision["kind"], decision["answer"]


def new_nonce() -> str:
    """128 random bits that make a record unlike every other."""
    return secrets.token_hex(16)
