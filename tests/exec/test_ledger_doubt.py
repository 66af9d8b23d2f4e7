"""Ledger, in doubt: what is asked when a call may have happened, and what each decision then does."""

from dataclasses import replace

import pytest

from agent_adapter import ToolPolicy
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Answer, Asked, Question, Truth

CAREFUL = ToolPolicy()
IDEMPOTENT = ToolPolicy(idempotent=True)
NO_WIRE = ToolPolicy(did_not_happen=(ConnectionError,))
HAPPENED = {"kind": "decided", "happened": True, "value": "paid"}
REFUSED = {"kind": "decided", "happened": False, "value": "too late"}


async def test_a_call_of_a_dead_worker_is_a_question_and_does_not_run(fleet, call):
    """item 86"""
    attempt = await fleet.die("a", call)
    question = await fleet.ask("b", call)
    assert question == Question(
        id=question.id,
        cause="died",
        tool="charge",
        arguments={"amount": 5},
        call_id="call_1",
        idempotency_key=attempt.idempotency_key,
        owner_known_dead=True,
    )
    assert len(question.id) == 32
    assert len(fleet.ran) == 1


async def test_asking_twice_asks_the_same_and_writes_nothing(fleet, call):
    """item 86, item 114"""
    await fleet.die("a", call)
    question = await fleet.ask("b", call, bare="stale")
    before = await fleet.records(call)
    again = await fleet.ask("c", call, bare="newer")
    assert again == replace(question, asked_with="stale")
    assert await fleet.records(call) == before
    assert len(fleet.ran) == 1


async def test_a_question_is_open_until_it_is_answered(fleet, call):
    await fleet.die("a", call)
    assert await fleet["b"].open_question(call) is None
    assert await fleet["b"].open_questions(call.run, call.scope) == frozenset()
    question = await fleet.ask("b", call, bare="digest")
    assert await fleet["c"].open_question(call) == replace(question, asked_with="digest")
    assert await fleet["c"].open_questions(call.run, call.scope) == {question.id}
    assert await fleet["c"].open_questions(call.run, "another visit") == frozenset()
    assert not await fleet["c"].finished(call.run)


@pytest.mark.parametrize("decision", [Rerun(), Happened("paid"), DoNotRun("too late")], ids=repr)
async def test_an_answered_question_is_not_open_any_more(fleet, call, decision):
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    await fleet.run("b", call, answers={question.id: decision})
    assert await fleet["c"].open_question(call) is None
    assert await fleet["c"].open_questions(call.run, call.scope) == frozenset()
    assert await fleet["c"].finished(call.run)


async def test_run_again_runs_again_once(fleet, call):
    """item 87"""
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    for name in ("b", "b", "c"):
        outcome = await fleet.run(name, call, answers={question.id: Rerun()})
        assert outcome == {"receipt": 2}
    assert len(fleet.ran) == 2


@pytest.mark.parametrize(
    ("decision", "outcome"), [(Happened("paid"), HAPPENED), (DoNotRun("too late"), REFUSED)]
)
async def test_what_a_person_says_is_the_outcome_for_ever(fleet, call, decision, outcome):
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    assert await fleet.run("b", call, answers={question.id: decision}) == outcome
    assert await fleet.run("c", call) == outcome
    assert len(fleet.ran) == 1


async def test_a_decision_fits_no_other_attempt(fleet, call):
    """item 116: run again, die again, and the same answer is around: it is not used a second time."""
    await fleet.die("a", call)
    first = await fleet.ask("b", call)
    await fleet.die("b", call, answers={first.id: Rerun()})
    second = await fleet.ask("c", call, answers={first.id: Rerun()})
    assert second.id != first.id
    assert len(fleet.ran) == 2


async def test_a_decision_about_another_call_decides_nothing(fleet, call):
    other = replace(call, key="k2")
    await fleet.die("a", call)
    fleet.states["a"] = "alive"
    await fleet.die("a", other)
    about_other = await fleet.ask("b", other)
    await fleet.ask("b", call, answers={about_other.id: Rerun()})
    assert len(fleet.ran) == 2


async def test_an_answer_for_a_body_decides_nothing_about_a_doubt(fleet, call):
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    await fleet.ask("b", call, answers={question.id: Answer("approve")})
    assert len(fleet.ran) == 1


@pytest.mark.parametrize("policy", [IDEMPOTENT, ToolPolicy(read_only=True)], ids=["i", "r"])
async def test_a_repeatable_call_just_runs_again(fleet, call, policy):
    """item 87, item 110"""
    await fleet.die("a", call, policy=policy)
    assert await fleet.run("b", call, policy=policy) == {"receipt": 2}
    assert fleet.ran == [fleet.ran[0]] * 2


async def test_a_tool_that_was_declared_idempotent_meanwhile_is_not_asked_about(fleet, call):
    await fleet.die("a", call)
    assert await fleet.run("b", call, policy=IDEMPOTENT) == {"receipt": 2}
    assert fleet.ran == [fleet.ran[0]] * 2


@pytest.mark.parametrize(
    ("how", "cause"), [("raised", "raised"), ("cancelled", "cancelled")], ids=["raised", "cancel"]
)
async def test_a_body_that_ended_without_an_answer_is_a_question_for_everybody(
    fleet, call, how, cause
):
    attempt = await fleet.begin("a", call, policy=NO_WIRE)
    await attempt.fail(how, TimeoutError("no answer"))
    attempt.land()
    for name in ("a", "b"):
        question = await fleet.ask(name, call, policy=NO_WIRE)
        assert (question.cause, question.detail) == (cause, "TimeoutError: no answer")
        assert question.owner_known_dead
    assert len(fleet.ran) == 1


async def test_an_error_that_proves_that_nothing_happened_lets_the_call_run_again(fleet, call):
    """item 153"""
    attempt = await fleet.begin("a", call, policy=NO_WIRE)
    await attempt.fail("raised", ConnectionRefusedError("nobody there"))
    attempt.land()
    assert await fleet.run("b", call, policy=NO_WIRE) == {"receipt": 2}
    assert fleet.ran == [fleet.ran[0]] * 2


async def test_a_cancellation_proves_nothing_whatever_its_class(fleet, call):
    attempt = await fleet.begin("a", call, policy=NO_WIRE)
    await attempt.fail("cancelled", ConnectionRefusedError("in flight"))
    attempt.land()
    assert (await fleet.ask("b", call, policy=NO_WIRE)).cause == "cancelled"


async def test_a_second_start_of_one_attempt_is_a_question(fleet, call):
    """Somebody's retry around the body."""
    attempt = await fleet.begin("a", call)
    attempt.note_failure(TimeoutError("no answer"))
    with pytest.raises(Asked) as asked:
        await attempt.start(call.arguments)
    attempt.land()
    question = asked.value.question
    assert (question.cause, question.detail) == ("raised", "TimeoutError: no answer")
    assert (await fleet.ask("b", call)).id == question.id


async def test_a_second_start_after_a_proof_is_none(fleet, call):
    attempt = await fleet.begin("a", call, policy=NO_WIRE)
    attempt.note_failure(ConnectionRefusedError("nobody there"))
    await attempt.start(call.arguments)
    await attempt.finish("paid")
    attempt.land()
    assert await fleet.run("b", call) == "paid"


async def test_an_attempt_that_repeats_nothing_may_start_twice(fleet, call):
    attempt = await fleet.begin("a", call, policy=IDEMPOTENT)
    attempt.note_failure(TimeoutError("no answer"))
    await attempt.start(call.arguments)
    await attempt.finish("done")
    attempt.land()
    assert await fleet.run("b", call, policy=IDEMPOTENT) == "done"


async def test_a_start_that_was_taken_back_leaves_no_doubt(fleet, call):
    attempt = await fleet["a"].enter(call, policy=CAREFUL)
    await attempt.start(call.arguments)
    await attempt.undo(TimeoutError("cancelled before the body"))
    attempt.land()
    assert await fleet.run("b", call) == {"receipt": 1}
    assert fleet.ran == [attempt.idempotency_key]


async def test_an_attempt_that_another_tool_takes_is_as_careful_as_that_tool(fleet, call):
    attempt = await fleet["a"].enter(call, policy=IDEMPOTENT)
    attempt.tighten(CAREFUL)
    await attempt.start(call.arguments)
    assert [record.state for record in (await fleet.records(call)).values()] == ["started"]
    fleet.states["a"] = "dead"
    question = await fleet.ask("b", call)
    assert question.idempotency_key == attempt.idempotency_key


async def test_an_attempt_is_never_less_careful_than_it_was(fleet, call):
    attempt = await fleet["a"].enter(call, policy=CAREFUL)
    attempt.tighten(IDEMPOTENT)
    await attempt.start(call.arguments)
    fleet.states["a"] = "dead"
    assert (await fleet.ask("b", call)).cause == "died"


async def test_a_failure_that_became_an_answer_is_the_outcome(fleet, call):
    attempt = await fleet.begin("a", call)
    attempt.note_failure(TimeoutError("no answer"))
    await attempt.finish({"error": "no answer"})
    attempt.land()
    assert await fleet.run("b", call) == {"error": "no answer"}
    assert len(fleet.ran) == 1


async def test_a_result_that_cannot_be_stored_is_a_question(fleet, call):
    """item 107"""
    attempt = await fleet.begin("a", call)
    await attempt.unrecordable("$.file: _io.TextIOWrapper has no exact stored form")
    attempt.land()
    question = await fleet.ask("b", call)
    assert (question.cause, question.detail, question.owner_known_dead) == (
        "unrecordable",
        "$.file: _io.TextIOWrapper has no exact stored form",
        True,
    )
    assert await fleet.run("b", call, answers={question.id: Happened("paid")}) == HAPPENED
    assert len(fleet.ran) == 1


async def test_a_repeatable_result_that_cannot_be_stored_runs_again(fleet, call):
    """item 107"""
    attempt = await fleet.begin("a", call, policy=IDEMPOTENT)
    await attempt.unrecordable("$: object")
    attempt.land()
    assert await fleet.run("b", call, policy=IDEMPOTENT) == {"receipt": 2}


async def test_what_the_record_knows_of_a_call(fleet, call):
    async def truth():
        return await fleet["b"].truth(call.run, call.call_id, call.digest)

    assert await truth() == Truth()
    await fleet.die("a", call)
    assert await truth() == Truth(in_doubt=True)
    question = await fleet.ask("b", call)
    await fleet.run("b", call, answers={question.id: Happened("paid")})
    assert await truth() == Truth(outcome=HAPPENED)
    assert await fleet["b"].truth(call.run, "call_2", call.digest) == Truth()
    assert await fleet["b"].truth(call.run, call.call_id, "d2") == Truth()
