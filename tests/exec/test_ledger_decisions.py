"""Ledger, decisions that meet: other answers to one question, other workers, other arguments."""

from dataclasses import replace

import pytest

from agent_adapter import ApprovalConflict, ToolPolicy
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import ClaimLost, Replay

CAREFUL = ToolPolicy()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Happened("paid"), Happened("refunded")),
        (Happened("paid"), DoNotRun()),
        (DoNotRun("a"), DoNotRun("b")),
        (Rerun(), Happened("paid")),
        (Happened("paid"), Rerun()),
    ],
    ids=repr,
)
async def test_a_different_second_answer_is_refused_and_nothing_runs_for_it(
    fleet, call, first, second
):
    """Both workers read the open question; then each brings its answer."""
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    let_go = await fleet.hold("c", call, answers={question.id: second})
    outcome = await fleet.run("b", call, answers={question.id: first})
    ran = len(fleet.ran)
    with pytest.raises(ApprovalConflict, match="already answered differently"):
        await let_go()
    assert len(fleet.ran) == ran
    assert await fleet.run("d", call) == outcome


@pytest.mark.parametrize("decision", [Rerun(), Happened("paid"), DoNotRun("no")], ids=repr)
async def test_the_same_answer_twice_is_one(fleet, call, decision):
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    let_go = await fleet.hold("c", call, answers={question.id: decision})
    outcome = await fleet.run("b", call, answers={question.id: decision})
    ran = len(fleet.ran)
    assert await let_go() == outcome
    assert len(fleet.ran) == ran


async def test_of_two_first_attempts_one_gets_the_call(fleet, call):
    first = await fleet["a"].enter(call, policy=CAREFUL)
    second = await fleet["b"].enter(call, policy=CAREFUL)
    await second.start(None)
    with pytest.raises(ClaimLost):
        await first.start(None)
    first.land()
    await second.finish("second")
    assert await fleet["a"].enter(call, policy=CAREFUL) == Replay("second")


async def test_changed_arguments_are_a_question_about_what_really_ran(fleet, call):
    """item 117"""
    await fleet.run("a", call)
    edited = replace(call, digest="d2", arguments={"amount": 6})
    question = await fleet.ask("b", edited)
    assert (question.cause, question.arguments) == ("changed", {"amount": 5})
    assert await fleet.run("b", edited, answers={question.id: Rerun()}) == {"receipt": 2}
    assert await fleet.run("c", edited) == {"receipt": 2}
    assert (await fleet.ask("c", call)).cause == "changed"


async def test_changed_arguments_of_a_doubt_are_no_way_around_it(fleet, call):
    await fleet.die("a", call)
    edited = replace(call, digest="d2", arguments={"amount": 6})
    question = await fleet.ask("b", edited)
    assert (question.cause, question.arguments) == ("changed", {"amount": 5})
    assert await fleet.run("b", edited, answers={question.id: DoNotRun("no")}) == {
        "kind": "decided",
        "happened": False,
        "value": "no",
    }
    assert len(fleet.ran) == 1


async def test_a_decision_about_changed_arguments_fits_these_arguments_only(fleet, call):
    await fleet.run("a", call)
    question = await fleet.ask("b", replace(call, digest="d2"))
    await fleet.ask("b", replace(call, digest="d3"), answers={question.id: Rerun()})
    assert len(fleet.ran) == 1


async def test_a_question_about_changed_arguments_names_the_key_that_the_service_knows(fleet, call):
    attempt = await fleet.die("a", call)
    question = await fleet.ask("b", replace(call, digest="d2"))
    assert question.idempotency_key == attempt.idempotency_key


async def test_a_question_about_another_tool_in_the_same_place_names_the_one_that_ran(fleet, call):
    await fleet.die("a", call)
    question = await fleet.ask("b", replace(call, tool="refund", digest="d2"))
    assert (question.tool, question.arguments) == ("charge", {"amount": 5})
