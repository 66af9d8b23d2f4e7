"""What to do with a call, given what its record says: one pure table that both bridges share.

No I/O, no clock, no framework. `next_step` is total: every combination of `Facts` and `Rules` has exactly one
step, and the tests walk through all of them. Whoever wants to change what a crash, a pause or a second worker
means, changes a row here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Answered = Literal["rerun", "edit", "happened", "do_not_run", "answer"]
Owner = Literal["alive", "unknown", "dead"]


class Step(StrEnum):
    """The one thing to do next with a call."""

    RUN = "run"  # no record: claim it as the first, then run the body
    REENTER = "reenter"  # claim it over exactly the record that was read, then run the body
    BRANCH = "branch"  # run it on this branch too: claim it as the first there, beside the other branch's record
    REPLAY = "replay"  # answer from the record
    SETTLE = "settle"  # a person or the probe said what happened: record that (on a fork, for this branch), run nothing
    PROBE = "probe"  # ask the tool's own `reconcile`
    ASK = "ask"  # only a person can say; park
    WAIT = "wait"  # another worker may be running it: look again a little later
    CONFLICT = "conflict"  # another worker is alive and still at it: start nothing


@dataclass(frozen=True)
class Facts:
    """What is known of one call at this moment.

    Attributes:
        state: the record's state, None when there is no record.
        same: the record's arguments are this call's arguments.
        forked: the record was made by another visit of the graph (a fork, or an edited state).
        container: the call is parked because a graph inside its body asked something; that graph keeps the answer.
        gated: the call is parked before its body ever began; whoever enters it asks the gate again.
        undone: the attempt ended with an error that proves that the effect did not take place.
        owner: who is running the attempt: a live worker, perhaps one, or nobody for certain. (A call that this very
            process is running is awaited before the table is asked.)
        waited: the bounded wait for the other worker is over.
        probed: what `reconcile` said, None before it was asked.
        answered: the decision that names exactly this record, None when there is none.
    """

    state: Literal["started", "done", "pending", "unrecordable"] | None
    same: bool = True
    forked: bool = False
    container: bool = False
    gated: bool = False
    undone: bool = False
    owner: Owner = "dead"
    waited: bool = True
    probed: Literal["happened", "did_not_happen", "unknown"] | None = None
    answered: Answered | None = None


@dataclass(frozen=True)
class Rules:
    """What the tool and the settings allow.

    Attributes:
        repeatable: running the body again does no harm (`idempotent` or `read_only`).
        probe: the tool has a `reconcile`.
        on_fork: what a record from another visit means.
        on_busy: what to do when another live worker does not finish in time.
    """

    repeatable: bool = False
    probe: bool = False
    on_fork: Literal["replay", "rerun", "ask"] = "replay"
    on_busy: Literal["conflict", "ask"] = "conflict"


def next_step(facts: Facts, rules: Rules) -> Step:
    """The step for these facts under these rules."""
    if facts.state is None:
        return Step.RUN
    if facts.state == "done" and facts.same:
        return _recorded(facts, rules)
    if facts.state == "pending" and facts.gated:
        return Step.SETTLE if facts.answered in ("happened", "do_not_run") else Step.REENTER
    if facts.state == "pending" and facts.same:
        return Step.REENTER if facts.container or facts.answered == "answer" else Step.ASK
    if facts.state == "started" and facts.undone:
        return Step.REENTER
    if facts.state == "started" and facts.owner != "dead" and not facts.waited:
        return Step.WAIT
    if rules.repeatable:
        return Step.REENTER
    return _doubtful(facts, rules)


def _recorded(facts: Facts, rules: Rules) -> Step:
    """A finished call is replayed, unless another visit made the record and the settings care."""
    if not facts.forked or rules.on_fork == "replay":
        return Step.REPLAY
    if rules.on_fork == "rerun" or facts.answered == "rerun":
        return Step.BRANCH
    return Step.SETTLE if facts.answered in ("happened", "do_not_run") else Step.ASK


def _doubtful(facts: Facts, rules: Rules) -> Step:
    """The effect may have happened (or happened with other arguments): a decision, the probe, or a question."""
    if facts.answered == "rerun":
        return Step.REENTER
    if facts.answered in ("happened", "do_not_run"):
        return Step.SETTLE
    if facts.state == "started" and facts.owner == "alive" and rules.on_busy == "conflict":
        return Step.CONFLICT
    if facts.state == "started" and facts.same and rules.probe:
        return _probed(facts)
    return Step.ASK


def _probed(facts: Facts) -> Step:
    """The probe's word counts; "did not happen" re-runs by itself only when nobody can still be at it."""
    if facts.probed is None:
        return Step.PROBE
    if facts.probed == "happened":
        return Step.SETTLE
    if facts.probed == "did_not_happen" and facts.owner == "dead":
        return Step.REENTER
    return Step.ASK
