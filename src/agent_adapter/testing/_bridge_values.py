"""The contract of bridges: what a tool gave or raised is what the model is told, also when it comes from the record."""

from typing import Any

from agent_adapter.calls import ToolCall
from agent_adapter.testing._bridge_scene import Part
from agent_adapter.testing._bridge_stage import Stage, calls
from agent_adapter.testing._bridge_worker import Outcome

VALUES: tuple[Any, ...] = (
    "Straße \n🚀",
    "",
    "null",
    7,
    2**70,
    -0.5,
    True,
    [],
    ["a", 1, None, [2.5]],
    {},
    {"a": {"b": [1, "2", None, False]}, "ä": ""},
    {"error": "not one"},
)


async def a_value_comes_back_with_the_same_content(stage: Stage) -> None:
    """Killed when all are on record: the model is told of each what an unharmed run tells it."""
    names = [f"make{n}" for n, _ in enumerate(VALUES)]
    parts = {name: Part(gives=value) for name, value in zip(names, VALUES, strict=True)}
    turn = tuple(ToolCall(name, name, {"amount": 1}) for name in names)
    unharmed = await stage.play(turn, **parts).start()
    assert sorted(unharmed.told) == sorted(names)

    last = Part(after=tuple(f"after {name} done" for name in names))
    play = stage.play((*turn, ToolCall("last", "last", {"amount": 1})), **parts, last=last)
    await play.killed("after last done")
    outcome = await play.resume()

    assert outcome == Outcome(told={**unharmed.told, "last": "last done"}, over=True)
    assert sorted(play.effects) == sorted(f"{name} 1" for name in [*names, "last"])


async def an_exception_is_an_answer_for_the_model(stage: Stage) -> None:
    """It does not end the run, and its sibling finishes."""
    play = stage.play(calls(c1=("pay", 5), c2=("mail", 1)), pay=Part(raises="no money"))
    outcome = await play.start()
    assert "no money" in outcome.told["c1"]
    assert outcome.told["c2"] == "mail done"
    assert outcome.over
    assert sorted(play.effects) == ["mail 1", "pay 5"]


async def an_exception_comes_back_as_the_same_answer(stage: Stage) -> None:
    parts = {"pay": Part(raises="no money")}
    unharmed = await stage.play(calls(c1=("pay", 5)), **parts).start()
    play = stage.play(calls(c1=("pay", 5)), **parts)
    await play.killed("after pay done")
    assert await play.resume() == unharmed
    assert play.effects == ["pay 5"]
