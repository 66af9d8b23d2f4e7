"""Ledger, forks: what a call means that another visit of the same thread has already made."""

from dataclasses import replace

import pytest

from agent_adapter import ApprovalConflict
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Answer, CallId

HAPPENED = {"kind": "decided", "happened": True, "value": "paid"}


@pytest.fixture
def fork(call: CallId) -> CallId:
    """The same call, met by a visit on another branch."""
    return replace(call, scope="fork")


async def test_replay_answers_a_fork_from_the_record(fleet, call, fork):
    assert await fleet.run("a", call) == {"receipt": 1}
    assert await fleet.run("b", fork, on_fork="replay") == {"receipt": 1}
    assert await fleet.run("b", fork) == {"receipt": 1}
    assert len(fleet.ran) == 1


async def test_rerun_runs_once_on_every_branch_and_keeps_each_result(fleet, call, fork):
    third = replace(call, scope="third")
    for _ in range(2):
        outcomes = [await fleet.run("a", c, on_fork="rerun") for c in (call, fork, third)]
        assert outcomes == [{"receipt": 1}, {"receipt": 2}, {"receipt": 3}]
    assert len(set(fleet.ran)) == 3


async def test_ask_asks_on_a_fork_and_only_there(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    assert (question.cause, question.owner_known_dead) == ("fork", True)
    assert await fleet["c"].open_questions(fork.run, "fork") == {question.id}
    assert await fleet.run("a", call, on_fork="ask") == {"receipt": 1}
    assert len(fleet.ran) == 1


async def test_a_fork_that_was_approved_runs_once_and_leaves_the_other_branch_alone(
    fleet, call, fork
):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    answers = {question.id: Rerun()}
    assert await fleet.run("b", fork, on_fork="ask", answers=answers) == {"receipt": 2}
    assert await fleet.run("c", fork, on_fork="ask") == {"receipt": 2}
    assert await fleet.run("c", call, on_fork="ask") == {"receipt": 1}
    assert await fleet["c"].open_questions(call.run, "fork") == frozenset()


async def test_do_not_run_keeps_the_result_on_a_fork(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    answers = {question.id: DoNotRun()}
    assert await fleet.run("b", fork, on_fork="ask", answers=answers) == {"receipt": 1}
    assert await fleet.run("c", call, on_fork="ask") == {"receipt": 1}
    assert len(fleet.ran) == 1


async def test_do_not_run_on_a_fork_is_decided_for_ever(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    await fleet.run("b", fork, on_fork="ask", answers={question.id: DoNotRun()})
    assert await fleet["c"].open_questions(fork.run, "fork") == frozenset()
    assert await fleet["c"].finished(fork.run)
    assert await fleet.run("c", fork, on_fork="ask") == {"receipt": 1}


async def test_what_happened_on_a_fork_is_its_outcome(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    answers = {question.id: Happened("paid")}
    assert await fleet.run("b", fork, on_fork="ask", answers=answers) == HAPPENED
    assert await fleet.run("c", fork, on_fork="ask") == HAPPENED
    assert len(fleet.ran) == 1


async def test_what_happened_on_a_fork_leaves_the_other_branch_alone(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    await fleet.run("b", fork, on_fork="ask", answers={question.id: Happened("paid")})
    assert await fleet.run("a", call, on_fork="ask") == {"receipt": 1}


async def test_a_bare_answer_decides_nothing_on_a_fork(fleet, call, fork):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    await fleet.ask("b", fork, on_fork="ask", answers={question.id: Answer("x")})
    assert len(fleet.ran) == 1


@pytest.mark.parametrize("second", [Happened("paid"), DoNotRun()], ids=repr)
async def test_a_different_second_answer_on_a_fork_is_refused(fleet, call, fork, second):
    await fleet.run("a", call, on_fork="ask")
    question = await fleet.ask("b", fork, on_fork="ask")
    let_go = await fleet.hold("b", fork, on_fork="ask", answers={question.id: Rerun()})
    await fleet.run("c", fork, on_fork="ask", answers={question.id: second})
    ran = len(fleet.ran)
    with pytest.raises(ApprovalConflict):
        await let_go()
    assert len(fleet.ran) == ran


async def test_two_workers_on_one_branch_run_it_once(fleet, call, fork):
    await fleet.run("a", call)
    let_go = await fleet.hold("b", fork, on_fork="rerun")
    assert await fleet.run("c", fork, on_fork="rerun") == {"receipt": 2}
    assert await let_go() == {"receipt": 2}
    assert len(fleet.ran) == 2


@pytest.mark.parametrize("on_fork", ["replay", "rerun", "ask"])
async def test_a_doubt_of_another_branch_is_a_doubt(fleet, call, fork, on_fork):
    await fleet.die("a", call)
    assert (await fleet.ask("b", fork, on_fork=on_fork)).cause == "died"
    assert len(fleet.ran) == 1


async def test_a_death_on_a_branch_is_a_doubt_about_that_branch(fleet, call, fork):
    await fleet.run("a", call)
    attempt = await fleet.die("a", fork, on_fork="rerun")
    question = await fleet.ask("b", fork, on_fork="rerun")
    assert (question.cause, question.idempotency_key) == ("died", attempt.idempotency_key)
    answers = {question.id: Rerun()}
    assert await fleet.run("b", fork, on_fork="rerun", answers=answers) == {"receipt": 3}
    assert await fleet.run("b", call, on_fork="rerun") == {"receipt": 1}


async def test_the_open_question_of_a_branch_is_found(fleet, call, fork):
    await fleet.run("a", call)
    await fleet.die("a", fork, on_fork="rerun")
    question = await fleet.ask("b", fork, on_fork="rerun")
    found = await fleet["b"].open_question(fork)
    assert found is not None
    assert found.id == question.id
