"""The contract of bridges: a call that needs a person's approval, and everything that is no approval."""

from typing import Any

from agent_adapter.policies import ToolPolicy
from agent_adapter.testing._bridge_scene import Part
from agent_adapter.testing._bridge_stage import Play, Stage, calls, named, shown
from agent_adapter.testing._bridge_worker import Outcome

CONFIRM = Part(ToolPolicy(confirm=True))
PAY = calls(c1=("pay", 5))
WAITS = {"c1": ("pay", {"amount": 5}, "approval")}
PAID = Outcome(told={"c1": "pay done"}, over=True)

# What says nothing plainly: neither words, nor shapes, nor a decision with something more beside it.
NO_ANSWERS: tuple[Any, ...] = (
    None,
    "",
    "yes",
    "approve it",
    "Approve",
    1,
    [],
    {},
    {"type": ""},
    {"type": "approved"},
    {"type": "approve", "message": "go"},
    {"type": "reject", "message": 7},
    {"type": "respond"},
    {"type": "edit"},
    {"type": "edit", "args": ["amount"]},
    {"approve": True},
)


async def a_call_that_needs_approval_waits(stage: Stage) -> None:
    """In whatever worker, for as long as it takes."""
    play, asked = await _waiting(stage)
    assert (dict(asked.told), asked.over) == ({}, False)
    for _ in range(2):
        again = await play.resume()
        assert again == asked
    assert play.effects == []


async def an_approval_lets_it_run_once(stage: Stage) -> None:
    play, asked = await _waiting(stage)
    assert await play.answer(asked, c1="approve") == PAID
    assert await play.resume() == PAID
    assert play.effects == ["pay 5"]


async def a_refusal_never_lets_it_run(stage: Stage) -> None:
    for refusal, said in (("reject", ""), ({"type": "reject", "message": "too much"}, "too much")):
        play, asked = await _waiting(stage)
        outcome = await play.answer(asked, c1=refusal)
        assert said in outcome.told["c1"]
        assert outcome.over
        assert await play.resume() == outcome
        assert play.effects == []


async def an_answer_in_its_place_is_its_result(stage: Stage) -> None:
    play, asked = await _waiting(stage)
    outcome = await play.answer(asked, c1={"type": "respond", "message": "paid in cash"})
    assert outcome == Outcome(told={"c1": "paid in cash"}, over=True)
    assert play.effects == []


async def an_edit_runs_with_the_edited_arguments(stage: Stage) -> None:
    play, asked = await _waiting(stage)
    assert await play.answer(asked, c1={"type": "edit", "args": {"amount": 4}}) == PAID
    assert play.effects == ["pay 4"]


async def an_edit_that_does_not_fit_leaves_it_waiting(stage: Stage) -> None:
    """Arguments that the tool does not take are no decision; a good one still counts."""
    play, _ = await _waiting(stage)
    for arguments in ({"amount": "many"}, {}, {"amount": 4, "tip": 1}):
        asked = await play.resume()
        await play.give_nothing_good(named(asked, c1={"type": "edit", "args": arguments}))
        assert shown(await play.resume()) == WAITS, arguments
    assert play.effects == []
    assert await play.answer(await play.resume(), c1="approve") == PAID
    assert play.effects == ["pay 5"]


async def an_answer_that_says_nothing_plainly_leaves_it_waiting(stage: Stage) -> None:
    play, _ = await _waiting(stage)
    for nothing in NO_ANSWERS:
        asked = await play.resume()
        await play.give_nothing_good(named(asked, c1=nothing))
        assert shown(await play.resume()) == WAITS, nothing
        assert play.effects == [], nothing
    assert await play.answer(await play.resume(), c1="approve") == PAID
    assert play.effects == ["pay 5"]


async def an_answer_to_another_question_leaves_it_waiting(stage: Stage) -> None:
    """Not the first question that is there, but the one that is named."""
    play, _ = await _waiting(stage)
    _, elsewhere = await _waiting(stage)
    await play.give_nothing_good(named(elsewhere, c1="approve"))
    assert shown(await play.resume()) == WAITS
    assert play.effects == []


async def the_same_approval_twice_runs_it_once(stage: Stage) -> None:
    """A double click, or an answer that is delivered again: also while the run has gone on to its next question."""
    play = stage.play(PAY, calls(c2=("pay", 6)), pay=CONFIRM)
    first = await play.start()
    second = await play.answer(first, c1="approve")
    assert shown(second) == {"c2": ("pay", {"amount": 6}, "approval")}
    await play.give_nothing_good(named(first, c1="approve"))
    assert shown(await play.resume()) == shown(second)
    assert play.effects == ["pay 5"]
    outcome = await play.answer(await play.resume(), c2="approve")
    assert outcome == Outcome(told={"c1": "pay done", "c2": "pay done"}, over=True)
    for stale in (named(first, c1="approve"), named(second, c2="approve")):
        await play.give_nothing_good(stale)
    assert await play.resume() == outcome
    assert play.effects == ["pay 5", "pay 6"]


async def a_decision_cannot_be_taken_back(stage: Stage) -> None:
    """The first one stands, whether it let the call run or not."""
    for first, then in (("approve", "reject"), ("reject", "approve")):
        play, asked = await _waiting(stage)
        outcome = await play.answer(asked, c1=first)
        await play.give_nothing_good(named(asked, c1=then))
        assert await play.resume() == outcome
        assert play.effects == (["pay 5"] if first == "approve" else [])


async def an_approval_counts_for_one_attempt(stage: Stage) -> None:
    """Killed in the body that it let in, the call is in doubt: the approval, given again, does not run it again."""
    play, asked = await _waiting(stage)
    approval = named(asked, c1="approve")
    await play.killed("body pay", "answer", approval)
    doubt = {"c1": ("pay", {"amount": 5}, "died")}
    assert shown(await play.resume()) == doubt
    await play.give_nothing_good(approval)
    assert shown(await play.resume()) == doubt
    assert play.effects == ["pay 5"]


async def a_worker_that_dies_after_the_decision_repeats_nothing(stage: Stage) -> None:
    """The next one goes on, asks what became of it, or asks again what nobody had stored yet."""
    for moment in ("before pay started", "after pay started", "body pay", "after pay done"):
        play, asked = await _waiting(stage)
        await play.killed(moment, "answer", named(asked, c1="approve"))
        begun = list(play.effects)
        outcome = await play.resume()
        if outcome.asked:
            (again,) = outcome.asked
            assert again.cause == ("approval" if moment == "before pay started" else "died"), moment
            settled = {"type": "respond", "message": "pay done"} if begun else "approve"
            outcome = await play.answer(outcome, c1=settled)
        assert outcome == PAID, moment
        assert play.effects == ["pay 5"], moment


async def _waiting(stage: Stage) -> tuple[Play, Outcome]:
    play = stage.play(PAY, pay=CONFIRM)
    asked = await play.start()
    assert shown(asked) == WAITS
    return play, asked
