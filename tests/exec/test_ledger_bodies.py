"""Ledger, bodies that ask: a pause, its answers in order, a refused answer, and what stands around a body."""

import asyncio
from dataclasses import replace

import pytest

from agent_adapter import ApprovalConflict, ToolPolicy
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Answer, Question, Replay, decode

CAREFUL = ToolPolicy()
POLICIES = pytest.mark.parametrize(
    "policy", [CAREFUL, ToolPolicy(idempotent=True)], ids=["careful", "idempotent"]
)


async def _pause(fleet, name, call, text="sure?", **entering):
    attempt = await fleet.begin(name, call, **entering)
    question = await attempt.pause({"ask": text}, {"type": "boolean"})
    attempt.land()
    return question


@POLICIES
async def test_a_body_that_asks_is_parked_with_its_own_question(fleet, call, policy):
    """item 113, item 114"""
    question = await _pause(fleet, "a", call, policy=policy, bare="digest")
    assert question == Question(
        id=question.id,
        cause="body",
        tool="charge",
        arguments={"amount": 5},
        call_id="call_1",
        idempotency_key=fleet.ran[0],
        owner_known_dead=True,
        payload={"ask": "sure?"},
        schema={"type": "boolean"},
        asked_with="digest",
    )
    fleet.states["a"] = "dead"
    for name in ("a", "b"):
        assert await fleet.ask(name, call, policy=policy) == question
    assert await fleet["b"].open_question(call) == question
    assert len(fleet.ran) == 1


@pytest.mark.parametrize("decision", [Rerun(), Happened("x"), DoNotRun()], ids=repr)
async def test_only_an_answer_answers_a_body(fleet, call, decision):
    question = await _pause(fleet, "a", call)
    await fleet.ask("b", call, answers={question.id: decision})
    assert len(fleet.ran) == 1


@POLICIES
@pytest.mark.parametrize("answer", [True, None, "", {"decimal": (1, 2)}], ids=repr)
async def test_an_answered_body_runs_again_with_its_answer(fleet, call, policy, answer):
    question = await _pause(fleet, "a", call, policy=policy)
    attempt = await fleet["b"].enter(call, policy=policy, answers={question.id: Answer(answer)})
    assert [decode(plain) for plain in attempt.answers] == [answer]
    assert attempt.answered
    assert attempt.idempotency_key == fleet.ran[0]
    await attempt.start(call.arguments)
    await attempt.finish("done")
    attempt.land()
    assert await fleet.run("c", call, policy=policy) == "done"


@POLICIES
async def test_several_questions_of_one_body_are_answered_in_order(fleet, call, policy):
    questions = [await _pause(fleet, "a", call, "first?", policy=policy)]
    for n in (1, 2):
        answers = {q.id: Answer(f"answer {i}") for i, q in enumerate(questions)}
        attempt = await fleet.begin("b", call, policy=policy, answers=answers)
        assert attempt.answers == [f"answer {i}" for i in range(n)]
        questions.append(await attempt.pause(f"question {n}?", None))
        attempt.land()
    assert len({q.id for q in questions}) == 3
    # Old answers are around for ever; they answer nothing that is asked now.
    again = await fleet.ask("c", call, policy=policy, answers=answers)
    assert (again.id, again.payload) == (questions[2].id, "question 2?")
    assert len(set(fleet.ran)) == 1


@POLICIES
async def test_an_answer_survives_the_death_of_its_worker(fleet, call, policy):
    """item 115"""
    question = await _pause(fleet, "a", call, policy=policy)
    await fleet.die("b", call, policy=policy, answers={question.id: Answer("yes")})
    if policy is CAREFUL:
        doubt = await fleet.ask("c", call)
        assert doubt.cause == "died"
        attempt = await fleet["c"].enter(call, policy=policy, answers={doubt.id: Rerun()})
    else:
        attempt = await fleet["c"].enter(call, policy=policy)
    assert attempt.answers == ["yes"]
    attempt.land()


async def test_an_answer_that_the_body_refuses_opens_the_same_question_again(fleet, call):
    question = await _pause(fleet, "a", call)
    attempt = await fleet.begin("b", call, answers={question.id: Answer("nonsense")})
    await attempt.reopen()
    attempt.land()
    again = await fleet.ask("c", call)
    assert again.id == question.id
    assert again.payload == {"ask": "sure?"}
    better = await fleet["c"].enter(call, policy=CAREFUL, answers={question.id: Answer("yes")})
    assert better.answers == ["yes"]
    better.land()


async def test_a_refused_answer_leaves_the_earlier_ones(fleet, call):
    first = await _pause(fleet, "a", call)
    attempt = await fleet.begin("a", call, answers={first.id: Answer("one")})
    second = await attempt.pause("next?", None)
    attempt.land()
    attempt = await fleet.begin("b", call, answers={second.id: Answer("nonsense")})
    await attempt.reopen()
    attempt.land()
    assert (await fleet.ask("c", call)).id == second.id
    better = await fleet["c"].enter(call, policy=CAREFUL, answers={second.id: Answer("two")})
    assert better.answers == ["one", "two"]
    better.land()


@pytest.mark.parametrize(("second", "agrees"), [("yes", True), ("no", False)])
async def test_two_workers_with_answers_to_one_body(fleet, call, second, agrees):
    question = await _pause(fleet, "a", call)
    let_go = await fleet.hold("b", call, answers={question.id: Answer(second)})
    outcome = await fleet.run("c", call, answers={question.id: Answer("yes")})
    if agrees:
        assert await let_go() == outcome
    else:
        with pytest.raises(ApprovalConflict, match="already answered differently"):
            await let_go()
    assert len(fleet.ran) == 2


async def test_questions_of_two_calls_are_never_the_same(fleet, call):
    one = await _pause(fleet, "a", call)
    two = await _pause(fleet, "a", replace(call, key="k2"))
    other = await _pause(fleet, "a", replace(call, run=f"{call.run}-2"))
    assert len({one.id, two.id, other.id}) == 3
    assert await fleet["b"].open_questions(call.run, "visit") == {one.id, two.id}


async def test_a_parked_body_with_changed_arguments_is_not_answered(fleet, call):
    """item 117"""
    question = await _pause(fleet, "a", call)
    edited = replace(call, digest="d2")
    changed = await fleet.ask("b", edited, answers={question.id: Answer("yes")})
    assert changed.cause == "changed"
    assert len(fleet.ran) == 1


@POLICIES
async def test_a_call_around_a_graph_that_asks_is_entered_whenever_it_is_met(fleet, call, policy):
    attempt = await fleet.begin("a", call, policy=policy)
    await attempt.contain()
    attempt.land()
    assert await fleet["b"].open_question(call) is None
    again = await fleet["b"].enter(call, policy=policy)
    assert (again.answers, again.body_output) == ([], None)
    assert again.idempotency_key == fleet.ran[0]
    await again.start(call.arguments)
    await again.contain()
    again.land()
    assert await fleet.run("c", call, policy=policy) == {"receipt": 2}


async def test_a_body_that_is_over_does_not_run_again_for_what_stands_around_it(fleet, call):
    attempt = await fleet.begin("a", call)
    await attempt.contain({"receipt": 1})
    attempt.land()
    again = await fleet["b"].enter(call, policy=CAREFUL)
    assert again.body_output == {"receipt": 1}
    await again.contain(again.body_output)
    again.land()
    last = await fleet["c"].enter(call, policy=CAREFUL)
    assert last.body_output == {"receipt": 1}
    await last.finish("wrapped")
    last.land()
    assert await fleet["a"].enter(call, policy=CAREFUL) == Replay("wrapped")
    assert len(fleet.ran) == 1


async def test_two_workers_at_a_contained_call_run_its_body_one_at_a_time(fleet, call):
    attempt = await fleet.begin("a", call)
    await attempt.contain()
    attempt.land()
    let_go = await fleet.hold("b", call)
    inside = asyncio.Event()
    leave = asyncio.Event()

    async def slow(attempt):
        inside.set()
        await leave.wait()
        return await fleet.charge(attempt)

    fleet.ledger("c")
    running = asyncio.create_task(fleet.run("c", call, slow))
    await inside.wait()
    leave.set()
    outcome = await running
    assert await let_go() == outcome
    assert len(fleet.ran) == 2


async def test_a_contained_call_that_died_inside_its_body_is_in_doubt(fleet, call):
    attempt = await fleet.begin("a", call)
    await attempt.contain()
    attempt.land()
    await fleet.die("b", call)
    assert (await fleet.ask("c", call)).cause == "died"
    assert len(fleet.ran) == 2
