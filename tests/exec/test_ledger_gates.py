"""Ledger, calls that wait for a person before their body: what is kept, what one decision lets begin, and what never does."""

from dataclasses import replace
from typing import Any

import pytest

from agent_adapter import ApprovalConflict, ToolPolicy
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import (
    Answer,
    Asked,
    Attempt,
    CallId,
    ClaimLost,
    Edited,
    Question,
    Replay,
)

CAREFUL = ToolPolicy()


class Gate:
    """A bridge's road through a call that needs approval, on simulated worker processes."""

    def __init__(self, fleet: Any) -> None:
        self.fleet = fleet
        self.given: list[Any] = []

    async def enter(self, name: str, call: CallId, **entering: Any) -> Replay | Attempt:
        return await self.fleet[name].enter(call, **{"policy": CAREFUL, **entering})

    async def run(
        self, name: str, call: CallId, *, shown: Any = None, dies: bool = False, **entering: Any
    ) -> Any:
        """The call's outcome; the gate is asked about `shown`, the call's own arguments by default."""
        shown = call.arguments if shown is None else shown
        entered = await self.enter(name, call, **entering)
        if isinstance(entered, Replay):
            return entered.outcome
        try:
            verdict = entered.gate.verdict_on(shown)
            if verdict is None:
                raise Asked(await entered.ask_approval(shown))
            given = dict(verdict.arguments) if isinstance(verdict, Edited) else shown
            await entered.start(given)
            self.given.append(given)
            outcome = await self.fleet.charge(entered)
            if not dies:
                await entered.finish(outcome)
            self.fleet.states[name] = "dead" if dies else "alive"
            return outcome
        finally:
            entered.land()

    async def ask(self, name: str, call: CallId, **named: Any) -> Question:
        with pytest.raises(Asked) as asked:
            await self.run(name, call, **named)
        return asked.value.question


@pytest.fixture
def gate(fleet) -> Gate:
    return Gate(fleet)


async def test_the_call_waits_under_one_question_until_somebody_answers(gate, fleet, call):
    """Item 114: met again undecided, it is the same question, and nothing more is written."""
    first = await gate.ask("a", call)
    records = await fleet.records(call)

    again = [await gate.ask(name, call) for name in "abc"]

    assert (first.cause, first.tool, first.arguments) == ("approval", "charge", {"amount": 5})
    assert {question.id for question in again} == {first.id}
    assert await fleet["d"].open_questions(call.run, call.scope) == {first.id}
    assert (await fleet["d"].open_question(call)).id == first.id
    assert await fleet.records(call) == records
    assert [record.state for record in records.values()] == ["pending"]
    assert fleet.ran == []


async def test_approved_it_runs_once_and_is_replayed(gate, fleet, call):
    """Item 113."""
    question = await gate.ask("a", call)
    fleet.states["a"] = "dead"

    outcomes = [await gate.run(name, call, answers={question.id: Rerun()}) for name in "bcb"]

    assert outcomes == [{"receipt": 1}] * 3
    assert gate.given == [{"amount": 5}]


async def test_edited_it_runs_with_the_edited_arguments_and_a_later_doubt_shows_them(gate, call):
    question = await gate.ask("a", call)
    edit = {question.id: Edited({"amount": 6})}

    await gate.run("b", call, answers=edit, dies=True)
    doubt = await gate.ask("c", call)

    assert gate.given == [{"amount": 6}]
    assert (doubt.cause, doubt.arguments) == ("died", {"amount": 6})


@pytest.mark.parametrize(
    "said",
    [(DoNotRun("too much"), False, "too much"), (Happened("paid by hand"), True, "paid by hand")],
    ids=["do not run", "happened"],
)
async def test_what_a_person_says_instead_is_the_outcome_for_good(gate, fleet, call, said):
    """Item 118."""
    decision, happened, value = said
    question = await gate.ask("a", call)
    outcome = {"kind": "decided", "happened": happened, "value": value}

    assert await gate.run("b", call, answers={question.id: decision}) == outcome
    assert await gate.run("c", call, answers={question.id: Rerun()}) == outcome
    assert fleet.ran == []


async def test_a_decision_is_about_exactly_what_was_shown(gate, fleet, call):
    """Item 117: other arguments on the way to the body are another question, in both directions."""
    question = await gate.ask("a", call)
    yes = {question.id: Rerun()}

    other = await gate.ask("a", call, shown={"amount": 500}, answers=yes)
    back = await gate.ask("a", call, answers={other.id: Rerun()})

    assert other.id != question.id
    assert (other.arguments, back.arguments) == ({"amount": 500}, {"amount": 5})
    assert fleet.ran == []


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "d2", "arguments": {"amount": 500}},
        {"key": "k2"},
        {"run": "another-run"},
    ],
    ids=["other arguments", "an equal call", "another run"],
)
async def test_one_decision_answers_one_request(gate, fleet, call, change):
    """Items 116, 117."""
    question = await gate.ask("a", call)
    later = replace(call, **change)

    asked = await gate.ask("a", later, answers={question.id: Rerun()})

    assert asked.id != question.id
    assert fleet.ran == []


@pytest.mark.parametrize(
    "policy", [ToolPolicy(idempotent=True), ToolPolicy(read_only=True)], ids=["idempotent", "read"]
)
async def test_a_repeatable_call_waits_too(gate, fleet, call, policy):
    question = await gate.ask("a", call, policy=policy)
    assert (await gate.ask("b", call, policy=policy)).id == question.id

    outcome = await gate.run("b", call, policy=policy, answers={question.id: Rerun()})

    assert (outcome, len(fleet.ran)) == ({"receipt": 1}, 1)


async def test_two_workers_that_ask_at_once_ask_one_question(gate, call):
    first = await gate.enter("a", call)
    second = await gate.enter("b", call)
    asked = await first.ask_approval({"amount": 5})

    with pytest.raises(ClaimLost):
        await second.ask_approval({"amount": 5})
    second.land()

    assert (await gate.ask("b", call)).id == asked.id


async def test_two_workers_with_one_approval_run_one_body(gate, fleet, call):
    question = await gate.ask("a", call)
    yes = {question.id: Rerun()}
    slow = await gate.enter("b", call, answers=yes)
    outcome = await gate.run("c", call, answers=yes)

    with pytest.raises(ClaimLost):
        await slow.start({"amount": 5})
    slow.land()

    assert await gate.run("b", call, answers=yes) == outcome
    assert len(fleet.ran) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Rerun(), Edited({"amount": 7})),
        (Edited({"amount": 6}), Rerun()),
        (Edited({"amount": 6}), Edited({"amount": 7})),
        (DoNotRun("no"), Rerun()),
        (DoNotRun("no"), Edited({"amount": 7})),
        (Happened("paid"), Rerun()),
    ],
    ids=repr,
)
async def test_a_different_second_answer_is_refused_and_nothing_runs_for_it(
    gate, fleet, call, first, second
):
    """Both read the open question, then each brings its answer."""
    question = await gate.ask("a", call)
    slow = await gate.enter("b", call, answers={question.id: second})
    await gate.run("c", call, answers={question.id: first})
    ran = len(fleet.ran)

    with pytest.raises(ApprovalConflict, match="already answered differently"):
        await slow.start({"amount": 5})
    slow.land()

    assert len(fleet.ran) == ran


async def test_a_worker_that_died_in_an_approved_body_leaves_a_doubt_and_no_second_body(
    gate, fleet, call
):
    """Item 115: the approval is used; unasked, the body does not run twice."""
    question = await gate.ask("a", call)
    yes = {question.id: Rerun()}
    await gate.run("b", call, answers=yes, dies=True)

    doubt = await gate.ask("c", call, answers=yes)

    assert (doubt.cause, doubt.id != question.id) == ("died", True)
    assert len(fleet.ran) == 1


async def test_an_approved_doubt_runs_without_another_approval(gate, fleet, call):
    """One decision, one body: "run it again" is not "ask me again"."""
    question = await gate.ask("a", call)
    await gate.run("b", call, answers={question.id: Rerun()}, dies=True)
    doubt = await gate.ask("c", call)

    assert await gate.run("c", call, answers={doubt.id: Rerun()}) == {"receipt": 2}


async def test_a_doubt_is_never_written_over_by_a_request_for_approval(gate, fleet, call):
    question = await gate.ask("a", call)
    await gate.run("b", call, answers={question.id: Rerun()}, dies=True)
    doubt = await gate.ask("c", call)
    attempt = await gate.enter("c", call, answers={doubt.id: Rerun()})
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever refuses it, the record has to stay
        await attempt.ask_approval({"amount": 5})
    attempt.land()

    assert (await gate.ask("d", call)).cause == "died"


async def test_a_repeatable_call_that_was_approved_runs_again_under_the_same_decision(
    gate, fleet, call
):
    """Item 115: the decision is never lost."""
    policy = ToolPolicy(idempotent=True)
    question = await gate.ask("a", call, policy=policy)
    await gate.run("b", call, policy=policy, answers={question.id: Rerun()}, dies=True)

    assert await gate.run("c", call, policy=policy) == {"receipt": 2}


async def test_an_edited_call_that_provably_did_nothing_runs_again_as_edited(gate, call):
    policy = ToolPolicy(did_not_happen=(ConnectionError,))
    question = await gate.ask("a", call, policy=policy)
    edit = Edited({"amount": 6})
    entered = await gate.enter("b", call, policy=policy, answers={question.id: edit})
    assert entered.gate.verdict_on(call.arguments) == edit
    await entered.start({"amount": 6})
    await entered.fail("raised", ConnectionError("refused"))
    entered.land()

    await gate.run("c", call, policy=policy)

    assert gate.given == [{"amount": 6}]


async def test_an_approved_body_that_asks_goes_on_with_its_answer(gate, call):
    question = await gate.ask("a", call)
    entered = await gate.enter("b", call, answers={question.id: Rerun()})
    assert entered.gate.verdict_on(call.arguments) == Rerun()
    await entered.start({"amount": 5})
    own = await entered.pause("which account?", None)
    entered.land()

    assert await gate.run("c", call, answers={own.id: Answer("savings")}) == {"receipt": 1}
