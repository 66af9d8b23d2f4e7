"""The contract of bridges: what the next worker does where one was killed."""

from collections.abc import Mapping
from typing import Any

from agent_adapter.exec.integration import read_answer
from agent_adapter.policies import ToolPolicy
from agent_adapter.testing._bridge_scene import Part
from agent_adapter.testing._bridge_stage import Play, Stage, calls, named, shown
from agent_adapter.testing._bridge_worker import Outcome

PAY = calls(c1=("pay", 5))
IN_DOUBT = {"c1": ("pay", {"amount": 5}, "died")}


async def a_call_that_never_began_runs(stage: Stage) -> None:
    """Nothing was recorded, so nothing has happened."""
    play = stage.play(PAY)
    await play.killed("before pay started")
    assert play.effects == []
    assert await play.resume() == Outcome(told={"c1": "pay done"}, over=True)
    assert play.effects == ["pay 5"]


async def a_finished_call_is_answered_from_the_record(stage: Stage) -> None:
    """It was killed between the record and the framework's own save; the model is told what it would have been told."""
    unharmed = await stage.play(PAY).start()
    play = stage.play(PAY)
    await play.killed("after pay done")
    assert await play.resume() == unharmed == Outcome(told={"c1": "pay done"}, over=True)
    assert await play.resume() == unharmed
    assert play.effects == ["pay 5"]


async def a_turn_that_is_over_stays_over(stage: Stage) -> None:
    """A model that is asked for its next turn, or is in the middle of it, does not get its last one again."""
    for moment in ("model 2", "before mail started", "after mail done"):
        play = stage.play(PAY, calls(c2=("mail", 1)))
        await play.killed(moment)
        outcome = await play.resume()
        assert outcome == Outcome(told={"c1": "pay done", "c2": "mail done"}, over=True), moment
        assert play.effects == ["pay 5", "mail 1"], moment


async def a_call_in_doubt_is_asked_about(stage: Stage) -> None:
    """After the effect and before the record: whoever comes, and however often, asks and runs nothing."""
    play = await _in_doubt(stage)
    for _ in range(3):
        outcome = await play.resume()
        assert shown(outcome) == IN_DOUBT
        assert (dict(outcome.told), outcome.over) == ({}, False)
    assert play.effects == ["pay 5"]


async def a_call_that_was_claimed_is_in_doubt(stage: Stage) -> None:
    """Before the effect, which nobody can know."""
    play = stage.play(PAY)
    await play.killed("after pay started")
    assert shown(await play.resume()) == IN_DOUBT
    assert play.effects == []


async def run_it_again_is_one_more_effect(stage: Stage) -> None:
    play = await _in_doubt(stage)
    outcome = await play.answer(await play.resume(), c1="approve")
    assert outcome == Outcome(told={"c1": "pay done"}, over=True)
    assert await play.resume() == outcome
    assert play.effects == ["pay 5", "pay 5"]


async def it_happened_is_its_result(stage: Stage) -> None:
    play = await _in_doubt(stage)
    said = {"type": "respond", "message": "receipt 7"}
    outcome = await play.answer(await play.resume(), c1=said)
    assert outcome == Outcome(told={"c1": "receipt 7"}, over=True)
    assert await play.resume() == outcome
    assert play.effects == ["pay 5"]


async def do_not_run_it_tells_the_model_why(stage: Stage) -> None:
    play = await _in_doubt(stage)
    outcome = await play.answer(await play.resume(), c1={"type": "reject", "message": "too late"})
    assert "too late" in outcome.told["c1"]
    assert outcome.over
    assert await play.resume() == outcome
    assert play.effects == ["pay 5"]


async def a_call_in_doubt_cannot_be_edited(stage: Stage) -> None:
    """What may have happened cannot be changed."""
    play = await _in_doubt(stage)
    edit = {"type": "edit", "args": {"amount": 6}}
    await play.give_nothing_good(named(await play.resume(), c1=edit))
    assert shown(await play.resume()) == IN_DOUBT
    assert play.effects == ["pay 5"]


async def a_second_death_is_a_second_question(stage: Stage) -> None:
    """To run it again is decided for one attempt: that of the question."""
    play = await _in_doubt(stage)
    first = await play.resume()
    await play.killed("body pay", "answer", named(first, c1="approve"))
    second = await play.resume()
    assert shown(second) == IN_DOUBT
    assert second.asked[0].id != first.asked[0].id
    await play.give_nothing_good(named(first, c1="approve"))
    assert shown(await play.resume()) == IN_DOUBT
    assert play.effects == ["pay 5", "pay 5"]
    said = {"type": "respond", "message": "receipt 7"}
    outcome = await play.answer(await play.resume(), c1=said)
    assert outcome == Outcome(told={"c1": "receipt 7"}, over=True)
    assert play.effects == ["pay 5", "pay 5"]


async def a_tool_that_may_run_twice_is_never_asked_about(stage: Stage) -> None:
    """Neither an idempotent one nor one that only reads, wherever the worker died."""
    for policy in (ToolPolicy(idempotent=True), ToolPolicy(read_only=True)):
        play = stage.play(PAY, pay=Part(policy))
        await play.killed("body pay")
        assert await play.resume() == Outcome(told={"c1": "pay done"}, over=True)
        assert play.effects == ["pay 5", "pay 5"]


async def a_probe_answers_before_a_person(stage: Stage) -> None:
    """`reconcile` says that it happened: nobody is asked, and nothing runs."""
    play = stage.play(PAY, pay=Part(ToolPolicy(reconcile=_found)))
    await play.killed("body pay")
    assert await play.resume() == Outcome(told={"c1": "found 5"}, over=True)
    assert play.effects == ["pay 5"]


async def _in_doubt(stage: Stage) -> Play:
    play = stage.play(PAY)
    await play.killed("body pay")
    return play


def _found(arguments: Mapping[str, Any], _: str | None) -> Any:
    """A `Happened`; its public name is in the facade, which stands above this package."""
    return read_answer({"type": "respond", "message": f"found {arguments['amount']}"})
