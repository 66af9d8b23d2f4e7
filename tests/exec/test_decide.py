"""The table of a call's next step, walked whole: rules in words that together allow exactly one step everywhere."""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import NamedTuple, get_args, get_type_hints

import pytest

# Private: no seam name reaches every combination, and this table is what the whole ledger rests on.
from agent_adapter.exec._decide import Facts, Rules, Step, next_step

ALL = frozenset(Step)
BODY = frozenset({Step.RUN, Step.REENTER, Step.BRANCH})


def _domains(of: type) -> Iterator[tuple]:
    """Every value of every field, read off the annotations, so that a new field is walked too."""
    hints = get_type_hints(of)
    for field in fields(of):
        hint = hints[field.name]
        yield (False, True) if hint is bool else tuple(_values(hint))


def _values(hint: object) -> Iterator[str | None]:
    for value in get_args(hint):
        if value is type(None):
            yield None
        elif isinstance(value, str):
            yield value
        else:
            yield from _values(value)


EVERY_FACTS = [Facts(*values) for values in itertools.product(*_domains(Facts))]
EVERY_RULES = [Rules(*values) for values in itertools.product(*_domains(Rules))]


@pytest.fixture(scope="module")
def table() -> list[tuple[Facts, Rules, Step]]:
    """The step of every combination."""
    cases = itertools.product(EVERY_FACTS, EVERY_RULES)
    return [(facts, rules, next_step(facts, rules)) for facts, rules in cases]


def test_the_walk_is_complete(table):
    assert len(EVERY_FACTS) == 5 * 2 * 2 * 2 * 2 * 2 * 3 * 2 * 4 * 6
    assert len(EVERY_RULES) == 2 * 2 * 3 * 2
    assert {step for _, _, step in table} == ALL


class Case(NamedTuple):
    """What the rules below speak of."""

    unrecorded: bool
    finished: bool
    # What the settings make of a finished call of another visit; empty when it is none or they do not care.
    fork: str
    parked: bool
    gated: bool  # parked before its body has ever begun
    goes_on: bool
    undone: bool
    maybe_running: bool
    waited: bool
    too_busy: bool
    repeatable: bool
    probeable: bool
    probed: str | None
    dead: bool
    answered: str | None

    @property
    def doubtful(self) -> bool:
        """It may have taken effect, with these arguments or others; nobody is waited for and no repeat is harmless."""
        known = self.unrecorded or self.finished or self.parked or self.gated or self.undone
        return not (known or self.awaited or self.repeatable)

    @property
    def awaited(self) -> bool:
        return self.maybe_running and not self.waited

    @property
    def undecided(self) -> bool:
        return self.doubtful and self.answered in (None, "answer", "edit")

    @property
    def proven(self) -> bool:
        return self.probed == "did_not_happen" and self.dead


def case_of(facts: Facts, rules: Rules) -> Case:
    started = facts.state == "started"
    finished = facts.state == "done" and facts.same
    maybe_running = started and not facts.undone and facts.owner != "dead"
    return Case(
        unrecorded=facts.state is None,
        finished=finished,
        fork=rules.on_fork if finished and facts.forked and rules.on_fork != "replay" else "",
        parked=facts.state == "pending" and facts.same and not facts.gated,
        gated=facts.state == "pending" and facts.gated,
        goes_on=facts.container or facts.answered == "answer",
        undone=started and facts.undone,
        maybe_running=maybe_running,
        waited=facts.waited,
        too_busy=maybe_running and facts.owner == "alive" and rules.on_busy == "conflict",
        repeatable=rules.repeatable,
        probeable=started and facts.same and rules.probe,
        probed=facts.probed,
        dead=facts.owner == "dead",
        answered=facts.answered,
    )


class Rule(NamedTuple):
    """In words, when it speaks, and the steps that it then allows."""

    words: str
    when: Callable[[Case], bool]
    allows: frozenset[Step]


def only(step: Step) -> frozenset[Step]:
    return frozenset({step})


RULES = [
    Rule("a call without a record runs", lambda c: c.unrecorded, only(Step.RUN)),
    Rule("a record means no first run", lambda c: not c.unrecorded, ALL - only(Step.RUN)),
    Rule(
        "a finished call is replayed unless it is a fork that the settings care about",
        lambda c: c.finished and not c.fork,
        only(Step.REPLAY),
    ),
    Rule("only a finished call is replayed", lambda c: not c.finished, ALL - only(Step.REPLAY)),
    Rule(
        "a fork runs, too, where the settings or a person say so",
        lambda c: c.fork == "rerun" or (c.fork == "ask" and c.answered == "rerun"),
        only(Step.BRANCH),
    ),
    Rule(
        "a fork may be asked about",
        lambda c: c.fork == "ask" and c.answered in (None, "answer", "edit"),
        only(Step.ASK),
    ),
    Rule(
        "on a fork, what happened and do not run are recorded",
        lambda c: c.fork == "ask" and c.answered in ("happened", "do_not_run"),
        only(Step.SETTLE),
    ),
    Rule(
        "a parked call goes on with its body's answer, or when a graph inside keeps it",
        lambda c: c.parked and c.goes_on,
        only(Step.REENTER),
    ),
    Rule("else a parked call stays parked", lambda c: c.parked and not c.goes_on, only(Step.ASK)),
    Rule(
        "a call that a person answered for before it began is over",
        lambda c: c.gated and c.answered in ("happened", "do_not_run"),
        only(Step.SETTLE),
    ),
    Rule(
        "a call that waits before its body goes back to its gate, whatever its arguments are now",
        lambda c: c.gated and c.answered not in ("happened", "do_not_run"),
        only(Step.REENTER),
    ),
    Rule("what provably did nothing runs again", lambda c: c.undone, only(Step.REENTER)),
    Rule("who may be at it is waited for", lambda c: c.awaited, only(Step.WAIT)),
    Rule("nobody else is waited for", lambda c: not c.awaited, ALL - only(Step.WAIT)),
    Rule(
        "a repeatable call in doubt runs again",
        lambda c: (
            c.repeatable
            and not (c.unrecorded or c.finished or c.parked or c.gated or c.undone or c.awaited)
        ),
        only(Step.REENTER),
    ),
    Rule(
        "a decision to run again counts",
        lambda c: c.doubtful and c.answered == "rerun",
        only(Step.REENTER),
    ),
    Rule(
        "a decision on what happened counts",
        lambda c: c.doubtful and c.answered in ("happened", "do_not_run"),
        only(Step.SETTLE),
    ),
    Rule(
        "a worker that is alive and still at it is a conflict",
        lambda c: c.undecided and c.too_busy,
        only(Step.CONFLICT),
    ),
    Rule(
        "nothing else is a conflict",
        lambda c: not (c.undecided and c.too_busy),
        ALL - only(Step.CONFLICT),
    ),
    Rule(
        "the probe is asked before a person",
        lambda c: c.undecided and not c.too_busy and c.probeable and c.probed is None,
        only(Step.PROBE),
    ),
    Rule(
        "the probe is asked once and about nothing else",
        lambda c: not (c.undecided and not c.too_busy and c.probeable and c.probed is None),
        ALL - only(Step.PROBE),
    ),
    Rule(
        "the probe's word that it happened is recorded",
        lambda c: c.undecided and not c.too_busy and c.probeable and c.probed == "happened",
        only(Step.SETTLE),
    ),
    Rule(
        "the probe's word that it did not happen counts when nobody can still be at it",
        lambda c: c.undecided and c.probeable and c.proven,
        only(Step.REENTER),
    ),
    Rule(
        "what the probe cannot say is a person's to decide",
        lambda c: (
            (c.undecided and not c.too_busy and c.probeable)
            and (c.probed == "unknown" or (c.probed == "did_not_happen" and not c.dead))
        ),
        only(Step.ASK),
    ),
    Rule(
        "without a probe a person decides",
        lambda c: c.undecided and not c.too_busy and not c.probeable,
        only(Step.ASK),
    ),
]


@functools.cache
def _spoken(case: Case) -> tuple[frozenset[Step], frozenset[str]]:
    """The steps that the rules leave, and which rules spoke."""
    spoke = [rule for rule in RULES if rule.when(case)]
    return ALL.intersection(*(rule.allows for rule in spoke)), frozenset(r.words for r in spoke)


def test_every_combination_has_exactly_the_step_that_the_rules_leave(table):
    spoke = set()
    for facts, rules, step in table:
        left, words = _spoken(case_of(facts, rules))
        spoke |= words
        assert left == {step}, (facts, rules)
    assert spoke == {rule.words for rule in RULES}


def test_a_call_that_may_have_happened_never_runs_without_a_decision_or_a_proof(table):
    """The promise of the whole package, said without the words above."""
    for facts, rules, step in table:
        if facts.state is None or rules.repeatable or step not in BODY:
            continue
        decided = facts.answered == "rerun"
        setting = facts.state == "done" and facts.forked and rules.on_fork == "rerun"
        asks_itself = facts.container or facts.gated or facts.answered == "answer"
        own_question = facts.state == "pending" and asks_itself
        probed = rules.probe and facts.probed == "did_not_happen" and facts.owner == "dead"
        proven = facts.state == "started" and (facts.undone or probed)
        assert decided or setting or own_question or proven, (facts, rules)


def test_the_record_of_another_branch_is_never_run_over(table):
    for facts, rules, step in table:
        if facts.state == "done" and facts.same:
            assert step != Step.REENTER, (facts, rules)
        else:
            assert step != Step.BRANCH, (facts, rules)


def test_no_body_starts_beside_a_live_worker_without_a_decision(table):
    for facts, rules, step in table:
        live = facts.state == "started" and not facts.undone and facts.owner == "alive"
        if live and not rules.repeatable and step in BODY:
            assert facts.answered == "rerun", (facts, rules)


def test_an_answer_to_another_kind_of_question_decides_nothing(table):
    for facts, rules, step in table:
        waits = facts.state == "pending"
        body_asks = waits and facts.same and not facts.gated
        fits = {"answer": body_asks, "edit": waits and facts.gated}.get(
            str(facts.answered), not body_asks
        )
        if facts.answered is not None and not fits:
            assert step == next_step(replace(facts, answered=None), rules), (facts, rules)


def test_no_setting_of_the_tool_opens_a_gate(table):
    """Item 120: being repeatable, probed or on a fork says nothing of what a person has not approved."""
    for facts, _, step in table:
        if facts.state == "pending" and facts.gated:
            assert step == next_step(Facts("pending", gated=True, answered=facts.answered), Rules())


@pytest.mark.parametrize("state", ["started", "unrecordable", "pending"])
def test_the_defaults_are_the_careful_ones(state):
    assert next_step(Facts(state), Rules()) == Step.ASK
