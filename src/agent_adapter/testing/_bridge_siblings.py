"""The contract of bridges: calls of one turn, of which some finish while others wait, die or fail."""

from agent_adapter.testing._bridge_approving import CONFIRM
from agent_adapter.testing._bridge_scene import Part
from agent_adapter.testing._bridge_stage import LET_GO, Stage, calls, named, shown
from agent_adapter.testing._bridge_worker import Outcome

MAIL_AND_PAY = calls(c1=("mail", 1), c2=("pay", 5))
BOTH = Outcome(told={"c1": "mail done", "c2": "pay done"}, over=True)


async def equal_calls_both_run(stage: Stage) -> None:
    """They are two wishes: in one turn, and in two."""
    play = stage.play(calls(c1=("pay", 5), c2=("pay", 5)), calls(c3=("pay", 5)))
    told = dict.fromkeys(("c1", "c2", "c3"), "pay done")
    assert await play.start() == Outcome(told=told, over=True)
    assert play.effects == ["pay 5"] * 3


async def equal_calls_are_approved_one_by_one(stage: Stage) -> None:
    """Each decision counts for its own call."""
    play = stage.play(calls(c1=("pay", 5), c2=("pay", 5)), pay=CONFIRM)
    said = {"c1": {"type": "reject", "message": "one is enough"}, "c2": "approve"}
    outcome, _ = await play.decide(await play.start(), **said)
    assert "one is enough" in outcome.told["c1"]
    assert outcome.told["c2"] == "pay done"
    assert play.effects == ["pay 5"]


async def a_sibling_of_a_call_that_waits_runs_once(stage: Stage) -> None:
    play = stage.play(MAIL_AND_PAY, pay=CONFIRM)
    asked = await play.start()
    assert shown(asked) == {"c2": ("pay", {"amount": 5}, "approval")}
    await play.resume()
    assert await play.answer(await play.resume(), c2="approve") == BOTH
    assert sorted(play.effects) == ["mail 1", "pay 5"]


async def a_sibling_of_a_call_that_died_runs_once(stage: Stage) -> None:
    """It had finished and is on record when the process is killed in the other's body."""
    play = stage.play(MAIL_AND_PAY, pay=Part(after=("after mail done",)))
    await play.killed("end pay")
    await play.resume()
    asked = await play.resume()
    assert shown(asked) == {"c2": ("pay", {"amount": 5}, "died")}
    said = {"type": "respond", "message": "pay done"}
    assert await play.answer(asked, c2=said) == BOTH
    assert sorted(play.effects) == ["mail 1", "pay 5"]


async def siblings_that_died_are_asked_about_each(stage: Stage) -> None:
    """Two of one turn are in doubt: each gets the answer that names it."""
    mail, pay = Part(after=(LET_GO,)), Part(after=("body mail",))
    play = stage.play(MAIL_AND_PAY, mail=mail, pay=pay)
    await play.killed("end pay")
    asked = await play.resume()
    play.scene.hit(LET_GO)
    said = {"type": "respond", "message": "receipt 7"}
    outcome, was_asked = await play.decide(asked, c1="approve", c2=said)
    assert was_asked == {
        "c1": ("mail", {"amount": 1}, "died"),
        "c2": ("pay", {"amount": 5}, "died"),
    }
    assert outcome == Outcome(told={"c1": "mail done", "c2": "receipt 7"}, over=True)
    assert sorted(play.effects) == ["mail 1", "mail 1", "pay 5"]


async def each_decision_of_a_turn_counts_for_its_own_call(stage: Stage) -> None:
    """Three approvals of one turn, with three different answers."""
    turn = calls(c1=("pay", 1), c2=("pay", 2), c3=("pay", 3))
    play = stage.play(turn, pay=CONFIRM)
    edit = {"type": "edit", "args": {"amount": 30}}
    refusal = {"type": "reject", "message": "not two"}
    outcome, _ = await play.decide(await play.start(), c1="approve", c2=refusal, c3=edit)
    assert (outcome.told["c1"], outcome.told["c3"]) == ("pay done", "pay done")
    assert "not two" in outcome.told["c2"]
    assert outcome.over
    assert sorted(play.effects) == ["pay 1", "pay 30"]


async def an_answer_to_one_call_decides_nothing_about_another(stage: Stage) -> None:
    """One of two is approved: at once or when the other is decided too, but never the other."""
    play = stage.play(calls(c1=("pay", 1), c2=("pay", 2)), pay=CONFIRM)
    await play.give_nothing_good(named(await play.start(), c1="approve"))
    asked = await play.resume()
    assert shown(asked)["c2"] == ("pay", {"amount": 2}, "approval")
    assert play.effects in ([], ["pay 1"])
    left = dict.fromkeys(shown(asked), "approve")
    outcome = await play.answer(asked, **{**left, "c2": "reject"})
    assert outcome.told["c1"] == "pay done"
    assert outcome.over
    assert play.effects == ["pay 1"]
