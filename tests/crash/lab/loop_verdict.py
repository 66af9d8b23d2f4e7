"""What must hold of a durable loop, whenever and however often its workers were killed."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loop_scenarios import MARK, REFUSED, SCENARIOS, Scenario
from record import Record


@dataclass(frozen=True)
class Verdict:
    """What happened in one run.

    Attributes:
        bad: every promise that was broken.
        doubts: how many calls in doubt were asked about.
        duplicates: the orders that took effect more often than they were asked for.
        turns_again: model calls beyond one for each turn.
    """

    bad: list[str]
    doubts: int
    duplicates: list[str]
    turns_again: int


def judge(record: Record, name: str, mode: str, *, kills: int, unharmed: Record) -> Verdict:
    """The verdict on the run that this record is about, against the run that nobody harmed."""
    scenario = SCENARIOS[name]
    effects = record.read("effects")
    orders = Counter(_plain(line["order"]) for line in effects)
    duplicates = sorted(
        order
        for order, count in orders.items()
        if count > scenario.wishes.get(order, 0) and order not in scenario.repeatable
    )
    turns = Counter((line["name"], line["turn"]) for line in record.read("turns"))
    again = sum(turns.values()) - len(turns)
    doubts = {call["question_id"] for line in record.read("doubts") for call in line["calls"]}
    bad = [f"{order} took effect {orders[order]} times" for order in duplicates]
    if mode != "bare":
        keys = Counter((_plain(line["order"]), line["key"]) for line in effects)
        bad += _effects(keys, scenario, exact=mode != "refuse")
        if mode != "race" and again > kills:
            bad.append(f"{again} turns were asked for again after {kills} kills")
        bad += _history(record, unharmed, exact=mode != "refuse")
        bad += _patience(record) + _questions(record, scenario, alone=mode != "race")
        requests = {line["request"] for line in record.read("decided")}
        # An agent whose call was refused may not come as far as its request.
        if mode != "refuse" and len(requests) != scenario.requests:
            bad.append(f"{len(requests)} requests were decided, not {scenario.requests}")
    return Verdict(bad, len(doubts), duplicates, again)


def _effects(
    keys: Counter[tuple[str, str | None]], scenario: Scenario, *, exact: bool
) -> list[str]:
    """Each wish has a key of its own, under which it took effect: once, or (where that does no harm) at least once."""
    bad = [
        f"{order} took effect {count} times under one key"
        for (order, _), count in keys.items()
        if count > 1 and order not in scenario.repeatable
    ]
    if any(key is None for _, key in keys):
        bad.append("a body saw no idempotency key")
    wishes = Counter(order for order, _ in keys)
    if exact and wishes != Counter(scenario.wishes):
        bad.append(f"took effect: {dict(wishes)}, wished for: {dict(scenario.wishes)}")
    bad += [
        f"{order} was refused, and took effect" for order in wishes if order.startswith(REFUSED)
    ]
    return bad


def _history(record: Record, unharmed: Record, *, exact: bool) -> list[str]:
    """The run ended, and its history is the one of a run that nobody harmed; so is what the last worker returned."""
    bad = []
    for kind in ("histories", "results"):
        found, expected = _last(record, kind), _last(unharmed, kind)
        if found is None and kind == "histories":
            bad.append("the run did not end")
        elif found is not None and expected is not None:
            said = json.dumps(found)
            if exact and _plain(said) != _plain(json.dumps(expected)):
                bad.append(f"{kind}: {found}, not {expected}")
            elif [_shape(each) for each in found] != [_shape(each) for each in expected]:
                bad.append(f"{kind} of another shape: {found}")
            marked = [line["order"] for line in record.read("effects") if MARK in line["order"]]
            lost = [order for order in marked if order not in said]
            bad += [f"{order} took effect, and is not in the {kind}" for order in lost]
    return bad


def _plain(text: str) -> str:
    """The text without the marks of a restless model."""
    return re.sub(f"{MARK}[0-9a-f]+", "", text)


def _last(record: Record, kind: str) -> list[dict[str, Any]] | None:
    lines: Sequence[dict[str, Any]] = record.read(kind)
    return lines[-1]["messages"] if lines else None


def _shape(message: dict[str, Any]) -> tuple[Any, ...]:
    """A message without what its call answered."""
    calls = _plain(json.dumps(message.get("calls")))
    return message["role"], message.get("call_id"), message.get("name"), calls


def _questions(record: Record, scenario: Scenario, *, alone: bool) -> list[str]:
    """What was asked about calls in doubt says what a person needs to know; and no more was asked than that.

    A worker that is `alone` knows that whoever was at the call is dead; of others it may be told that they live.
    """
    asked = [call for line in record.read("doubts") for call in line["calls"]]
    bad = [f"{len(asked)} calls that a probe can answer were asked about"] if asked else []
    bad = [] if scenario.asks or not alone else bad
    for call in asked:
        order = _plain(call["arguments"]["order"])
        known = call["owner_known_dead"] or not alone
        if not known or not call["idempotency_key"] or not call["tool"]:
            bad.append(f"the question about {order} does not say enough: {call}")
        if order in scenario.repeatable:
            bad.append(f"{order} may simply run again, and was asked about")
    return bad


def _patience(record: Record) -> list[str]:
    """What cannot go on without a person writes nothing, however often somebody looks."""
    listed = {"RecoveryNeedsDecision": True, "paused": False}
    bad = []
    for n, poke in enumerate(record.read("pokes")):
        if poke["ended"] not in listed:
            continue
        # A first look may bring the run as far as its pause.
        if poke["wrote"] and (n > 0 or poke["ended"] != "paused"):
            bad.append(f"poke {n} ended with {poke['ended']}, and wrote")
        if poke["listed"] is not listed[poke["ended"]]:
            bad.append(f"poke {n}: listed as unfinished: {poke['listed']}, and {poke['ended']}")
    return bad
