"""What must hold of an ADK run, whenever and however often its workers were killed."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from adk_model import MARK
from adk_person import BEFORE
from adk_worker import SCENARIOS, Cell
from record import Record

# Tools whose last answer in the session is not what their body returned.
ANSWERED_OTHERWISE = ("flaky", "render", "helper", "one", "other", "middle", "inner")


@dataclass(frozen=True)
class Verdict:
    """What happened in one run.

    Attributes:
        bad: every promise that was broken.
        doubts: how many questions about calls in doubt were answered.
        duplicates: the orders that took effect more often than somebody wanted.
        turns_again: model calls beyond those of a run that nobody harmed.
    """

    bad: list[str]
    doubts: int
    duplicates: list[str]
    turns_again: int


def judge(record: Record, cell: Cell, mode: str, *, kills: int, unharmed: Record) -> Verdict:
    """The verdict on the run that this record is about, against the run that nobody harmed."""
    scenario = SCENARIOS[cell.scenario]
    effects = Counter(plain(line["order"]) for line in record.read("effects"))
    said = record.read("said")
    doubts = [line for line in said if line["cause"] not in BEFORE]
    again = Counter(plain(line["order"]) for line in doubts if line["said"] == "approve")
    duplicates = sorted(
        order
        for order, count in effects.items()
        if count > scenario.orders[order] + again[order] and not scenario.repeatable
    )
    bad = [f"{order} took effect {effects[order]} times" for order in duplicates]
    if mode not in ("rerun", "respond", "reject"):
        bad += _wishes(effects, scenario.orders, exact=not scenario.repeatable)
    bad += _keys(record, scenario.orders)
    bad += [f"{order} was never wished for" for order in effects if order not in scenario.orders]
    bad += _questions(said, scenario, cell)
    bad += _passes(record.read("passes"), scenario.raises)
    odd = sorted({f"{line['agent']}: {line['why']}" for line in record.read("odd")})
    bad += [f"the model was shown something odd: {why}" for why in odd]
    given = {plain(line["order"]) for line in doubts if line["said"] != "approve"}
    ends = {line["session"]: line for line in record.read("ends")}
    expected = {line["session"]: line for line in unharmed.read("ends")}
    if ends.keys() != {f"s{n}" for n in range(len(scenario.sessions))}:
        bad.append("the run did not end")
    for name, end in ends.items():
        exact = mode not in ("respond", "reject")
        bad += _ending(end, expected.get(name, end), given, exact=exact, named=scenario.named)
        bad += _answers(end, record, strict=mode != "reject")
    turns_again = len(record.read("turns")) - len(unharmed.read("turns"))
    return Verdict(bad, len(doubts), duplicates, max(turns_again, 0))


def plain(text: str) -> str:
    """The text without the marks of a drifting model."""
    return re.sub(f"{MARK}[0-9a-f]+", "", text)


def _wishes(effects: Counter[str], wished: Counter[str], *, exact: bool) -> list[str]:
    """Nothing is lost; and a person who knows the truth never has anything done twice."""
    return [
        f"{order} took effect {effects[order]} times, not {count}"
        for order, count in wished.items()
        if effects[order] < count or (exact and effects[order] > count)
    ]


def _keys(record: Record, wished: Counter[str]) -> list[str]:
    """Each wish has an idempotency key of its own, the same at each attempt."""
    keys = {(line["order"], line["key"]) for line in record.read("effects") if line["key"]}
    found = Counter(plain(order) for order, _ in keys)
    return [
        f"{order} was run under {count} keys"
        for order, count in found.items()
        if count > wished[order]
    ]


def _questions(said: list[dict[str, Any]], scenario: Any, cell: Cell) -> list[str]:
    """Questions are about calls that a person can decide, and no question is asked a second time once it was answered."""
    bad = []
    for line in said:
        if line["cause"] == "busy":
            bad.append(f"{line['order']} was said to be run by a worker that is dead")
        if line["cause"] not in BEFORE and scenario.repeatable:
            bad.append(f"{line['order']} may simply run again, and was asked about")
        if not line["order"]:
            bad.append(f"a question about {line['tool']} names no order: {line['cause']}")
    approvals = [line for line in said if line["cause"] in BEFORE and cell.protected]
    bad += [
        f"the approval of {line['order']} is stored, and was asked for"
        for line in approvals
        if line["stored"]
    ]
    asked = Counter(order for order, _ in {(line["order"], line["id"]) for line in approvals})
    bad += [
        f"{count} questions asked for the approval of {order}"
        for order, count in asked.items()
        if count > 1
    ]
    return bad


def _passes(passes: list[dict[str, Any]], raises: str) -> list[str]:
    """Nothing fails, nothing moves while nobody answers, and an ended run stays as it is."""
    bad = []
    over = False
    for line in passes:
        error = line["error"]
        if error and not (raises and raises in error):
            bad.append(f"{line['what']} failed: {error[:300]}")
        over = over or line["what"] == "over"
        if over and (line["effects"] or line["turns"]):
            bad.append(f"an ended run was taken up again: {line['effects']}, {line['turns']} turns")
    return bad


def _ending(
    end: dict[str, Any],
    expected: dict[str, Any],
    given: set[str],
    *,
    exact: bool,
    named: bool,
) -> list[str]:
    """The session ends as that of a run that nobody harmed, with nothing left open.

    A result that was `given` by a person comes without what its body does to the state. A request that is delivered anew
    leaves the calls of its earlier delivery behind.
    """
    bad = []
    if end["open"]:
        bad.append(f"{end['open']} questions are still open")
    if end["unanswered"] and not named:
        bad.append(f"calls without an answer: {end['unanswered']}")
    found, wanted = _sorted(end["texts"]), _sorted(expected["texts"])
    if exact and found != wanted:
        bad.append(f"texts are {found}, not {wanted}")
    elif {author for author, _ in found} != {author for author, _ in wanted}:
        bad.append(f"texts are of others: {found}, not {wanted}")
    # A node that is taken up again may tell its output once more.
    if exact and (missing := set(_sorted(expected["outputs"])) - set(_sorted(end["outputs"]))):
        bad.append(f"outputs are missing: {sorted(missing)}")
    kept = {plain(key) for key in end["state"]} | {f"did_{order}" for order in given}
    if exact and (lost := {plain(key) for key in expected["state"]} - kept):
        bad.append(f"state is missing: {sorted(lost)}")
    return bad


def _sorted(lines: list[list[str]]) -> list[tuple[str, ...]]:
    """Each line once, in an order of their own, without what differs from run to run.

    What a call that waits shows in its place may be words of its agent.
    """
    steady = {tuple(_steady(plain(word)) for word in line) for line in lines}
    return sorted(line for line in steady if not line[1].startswith('{"status": "pending"'))


def _steady(text: str) -> str:
    return re.sub(
        r"'nonce': '[0-9a-f]+'|'by': 'person'|call-[0-9a-f]{8}|adk-[0-9a-f-]{36}", "…", text
    )


def _answers(end: dict[str, Any], record: Record, *, strict: bool) -> list[str]:
    """Each answer in the session is what its body returned at one of its effects, or what somebody said."""
    nonces = {line["nonce"]: line["order"] for line in record.read("effects")}
    bad = []
    for tool, answer in end["answers"]:
        told = _told(answer)
        if tool in ANSWERED_OTHERWISE or told is None or told.get("by") or "status" in told:
            continue
        if strict and nonces.get(told.get("nonce", "")) != told["order"]:
            bad.append(f"{tool} is answered with {answer}, which no effect returned")
    last = {told["order"]: told for _, answer in end["answers"] if (told := _told(answer))}
    for key, nonce in end["state"].items():
        order = key.removeprefix("did_")
        if last.get(order, {}).get("nonce", nonce) != nonce:
            bad.append(f"the state says {nonce} of {order}, and its answer {last[order]}")
    return bad


def _told(answer: Any) -> dict[str, Any] | None:
    """What an answer says of an order, also one that came over MCP."""
    if isinstance(answer, dict) and "content" in answer and "order" not in answer:
        text = next((part.get("text", "") for part in answer["content"]), "")
        try:
            answer = json.loads(text)
        except ValueError:
            return None
    return answer if isinstance(answer, dict) and "order" in answer else None
