"""The contract of bridges: two workers that go on with one run at the same time."""

from agent_adapter.testing._bridge_approving import CONFIRM
from agent_adapter.testing._bridge_scene import Part
from agent_adapter.testing._bridge_stage import LET_GO, Stage, calls, named, shown
from agent_adapter.testing._bridge_worker import Outcome

PAY, MAIL = calls(c1=("pay", 5)), calls(c2=("mail", 1))
DONE = Outcome(told={"c1": "pay done", "c2": "mail done"}, over=True)


async def two_workers_that_go_on_at_once_run_each_call_once(stage: Stage) -> None:
    """Nor do they plan the next turn twice: the calls of each reply have ids of their own."""
    play = stage.play(PAY, MAIL)
    await play.killed("before pay started")
    await play.together(("resume",), ("resume",))
    assert await play.resume() == DONE
    assert play.effects == ["pay 5", "mail 1"]


async def two_workers_with_the_same_approval_run_it_once(stage: Stage) -> None:
    play = stage.play(PAY, MAIL, pay=CONFIRM)
    approval = named(await play.start(), c1="approve")
    await play.together(("answer", approval), ("answer", approval))
    assert await play.resume() == DONE
    assert play.effects == ["pay 5", "mail 1"]


async def of_two_different_decisions_one_stands(stage: Stage) -> None:
    play = stage.play(PAY, pay=CONFIRM)
    asked = await play.start()
    edit, refusal = {"type": "edit", "args": {"amount": 4}}, {"type": "reject", "message": "never"}
    await play.together(("answer", named(asked, c1=edit)), ("answer", named(asked, c1=refusal)))
    outcome = await play.resume()
    assert outcome.over
    if play.effects:
        assert (play.effects, outcome.told["c1"]) == (["pay 4"], "pay done")
    else:
        assert "never" in outcome.told["c1"]


async def a_call_that_another_worker_is_at_is_not_run(stage: Stage) -> None:
    """Its worker lives: the second one waits, is refused or asks, and the first one's result is the result."""
    play = stage.play(PAY, MAIL, pay=Part(after=(LET_GO,)))
    async with play.while_at("body pay"):
        second = await play.may_be_refused("resume")
        assert second is None or set(shown(second)) <= {"c1"}
        assert play.effects == ["pay 5"]
    assert await play.resume() == DONE
    assert play.effects == ["pay 5", "mail 1"]
