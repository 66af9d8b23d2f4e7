"""What must hold of a run, whenever and however often its workers were killed."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from passes import MORE_WAIT, Cell
from person import Mood
from record import Record
from scenarios import SCENARIOS


@dataclass(frozen=True)
class Verdict:
    """What happened in one run.

    Attributes:
        bad: every promise that was broken.
        doubts: how many questions about calls in doubt were asked.
        duplicates: the orders that took effect more than once.
        turns_again: model calls beyond one for each turn.
    """

    bad: list[str]
    doubts: int
    duplicates: list[str]
    turns_again: int


def judge(record: Record, cell: Cell, mood: Mood) -> Verdict:
    """The verdict on the run that this record is about."""
    effects, passes = record.effects(), record.read("passes")
    duplicates = sorted(order for order, count in effects.items() if count > 1)
    bad = [f"{order} took effect {effects[order]} times" for order in duplicates]
    bad += _ending(passes, cell, effects, mood) + _answers(record) + _patience(passes)
    doubts = {
        name
        for each in passes
        for name, value in each["questions"].items()
        if "request_ids" in value
    }
    turns = Counter(line["turn"] for line in record.read("turns"))
    return Verdict(bad, len(doubts), duplicates, sum(turns.values()) - len(turns))


def _ending(
    passes: list[dict[str, Any]], cell: Cell, effects: Counter[str], mood: Mood
) -> list[str]:
    """The run ended with one result for each call, and each says what is true of its own order."""
    scenario = SCENARIOS[cell.scenario]
    expected = [text for text in (scenario.raises, MORE_WAIT) if text]
    bad = [
        each["error"] for each in passes if each["error"] and not _names(each["error"], expected)
    ]
    results = passes[-1]["results"] if passes else None
    if results is None:
        last = passes[-1] if passes else "no pass ended"
        return [*bad, f"the run did not end: {last}"]
    if sorted(order for order, _ in results) != sorted(scenario.orders):
        bad.append(f"results for {results}, not one for each of {scenario.orders}")
    for order, said in results:
        if not said.endswith(f" {order}") or said.split()[0] not in {"done", "said", "refused"}:
            bad.append(f"{order} has the result {said!r}")
        if said.startswith("done") and not effects[order]:
            bad.append(f"{order} took no effect, and its result is {said!r}")
    if mood == "honest" and (missing := [order for order in scenario.orders if not effects[order]]):
        bad.append(f"{missing} never took effect, and nobody said so")
    return bad


def _names(error: str, expected: list[str]) -> bool:
    return any(text in error for text in expected)


def _answers(record: Record) -> list[str]:
    """No body was given an answer that was not given to its own question."""
    sent = [answer for line in record.read("answers") for answer in line["answers"].values()]
    return [
        f"the question of {line['order']} was answered with {line['answer']}"
        for line in record.read("told")
        if line["answer"] not in sent or not fits(line["answer"], line["order"])
    ]


def fits(answer: Any, order: str) -> bool:
    """Whether the person gave this answer to the question of that order; a plain yes does not say."""
    return answer == "approve" or answer["message"].endswith(f" {order}")


def _patience(passes: list[dict[str, Any]]) -> list[str]:
    """What a question is about does not move while nobody says anything."""
    bad = []
    for before, after in pairwise(passes):
        if before["sent"] == after["sent"]:
            asked = [
                order for value in before["questions"].values() for order in _asked_about(value)
            ]
            bad += [
                f"{order} took effect while its question was open and nobody answered"
                for order in asked
                if after["effects"].get(order) != before["effects"].get(order)
            ]
    return bad


def _asked_about(question: Any) -> list[str]:
    if "ask" in question:
        return [question["ask"]]
    return [request["args"]["order"] for request in question["action_requests"]]
