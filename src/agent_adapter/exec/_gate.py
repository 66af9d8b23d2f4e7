"""What a person decided about a call, as its record keeps it, and the gate before its body. Pure."""

from typing import Any

from agent_adapter._canonical import decode, digest, encode
from agent_adapter.exec._entries import Entry
from agent_adapter.exec._questions import (
    Answer,
    Decision,
    DoNotRun,
    Edited,
    Happened,
    Question,
    Rerun,
)


def waiting(request: str, shown: Any) -> dict[str, Any]:
    """What a parked call waits for: the request's id and the arguments (encoded) that the person sees."""
    return {"request": request, "digest": digest(shown), "arguments": shown}


def stored_decision(question: Question, decision: Decision | None) -> dict[str, Any]:
    """The decision as it is stored with the record that uses it up; none at all stands for "run it again"."""
    kind, said = "rerun", None
    match decision:
        case Answer(value):
            kind, said = "answer", encode(value)
        case Edited(arguments):
            kind, said = "edit", encode(dict(arguments))
        case DoNotRun(reason):
            kind, said = "do_not_run", reason
        case Happened(value):
            kind, said = "happened", encode(value)
    return {"question": question.id, "kind": kind, "answer": said}


def kept_decision(entry: Entry, question: Question) -> Decision | None:
    """The decision that was stored with a parked call before anybody used it, None when there is none."""
    kept = entry.decision
    if not entry.gated or kept is None or kept["question"] != question.id:
        return None
    match kept["kind"]:
        case "edit":
            return Edited(decode(kept["answer"]))
        case "do_not_run":
            return DoNotRun(kept["answer"])
        case "happened":
            return Happened(decode(kept["answer"]))
        case _:
            return Rerun()


class Gate:
    """The gate of one attempt.

    Args:
        past: what the record says so far.
        verdict: what a person decided about the parked call, when that came with this attempt.
    """

    def __init__(self, past: Entry | None, verdict: Rerun | Edited | None) -> None:
        self._past = past.gate if past is not None else None
        self._verdict = verdict
        self._decided: dict[str, Any] | None = None

    @property
    def for_record(self) -> dict[str, Any] | None:
        """What the call's next records say: the approval that let it in; one that is only asked for is not carried on."""
        if self._decided is not None:
            return self._decided
        return self._past if self._past is not None and "decision" in self._past else None

    @property
    def asked_before(self) -> bool:
        """Whether a person was shown the call before."""
        return self._past is not None

    @property
    def decided_before(self) -> bool:
        """Whether a person's decision let the call in, or waits with it."""
        return self._verdict is not None or (self._past is not None and "decision" in self._past)

    def approval(self, request: str) -> dict[str, Any] | None:
        """The approval that let an earlier attempt in by this request, see `decided`; None when there was none."""
        if self._past is None or self._past["request"] != request:
            return None
        said: dict[str, Any] | None = self._past.get("decision")
        return said if said is not None and said["approved"] else None

    def decided(self, request: str, shown: Any, decision: dict[str, Any]) -> None:
        """Keep with the call's next records what a person decided about it.

        Args:
            request: the request's id.
            shown: the arguments that the person saw, encoded.
            decision: `{"approved": bool, "edits": encoded or None, "by": who, "reason": why}`.
        """
        self._decided = {**waiting(request, shown), "decision": decision}

    def verdict_on(self, shown: Any) -> Rerun | Edited | None:
        """What a person decided about a call with exactly these arguments (encoded), None when nobody has."""
        if self._past is None or self._past["digest"] != digest(shown):
            return None
        if (verdict := self._verdict) is None:
            if (said := self._past.get("decision")) is None:
                return None
            verdict = Rerun() if said["edits"] is None else Edited(decode(said["edits"]))
        edits = encode(dict(verdict.arguments)) if isinstance(verdict, Edited) else None
        decision = {"approved": True, "edits": edits, "by": "", "reason": ""}
        self.decided(self._past["request"], shown, decision)
        return verdict
