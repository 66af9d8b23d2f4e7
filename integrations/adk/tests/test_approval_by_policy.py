"""A call whose policy asks first is shown to a person, and runs, runs otherwise, or does not run, as they say."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words

from agent_adapter.policies import ToolPolicy


async def over_100(arguments, ctx):
    return arguments["cents"] > 100


@pytest.fixture
def paying(oracle, make_durable, make_chat):
    """A chat with an agent that pays as scripted, under this `confirm`."""

    async def pay(cents: int, to: str = "a") -> dict[str, int]:
        """pay"""
        oracle.write(f"pay:{cents}:{to}")
        return {"paid": cents}

    def made(confirm, *turn):
        durable = make_durable(policies={"pay": ToolPolicy(confirm=confirm)})
        turn = turn or (ask("pay", cents=500),)
        return make_chat(agent(ScriptedModel(turn), pay), with_=durable)

    return made


async def test_a_person_is_shown_the_call_and_what_they_may_say(paying, oracle):
    chat = paying(True)
    await chat.say()
    (asked,) = await chat.pending()
    assert (asked.tool, asked.arguments, asked.cause) == ("pay", {"cents": 500}, "approval")
    assert asked.payload == {
        "request_id": asked.request_id,
        "cause": "approval",
        "tool": "pay",
        "args": {"cents": 500},
        "decisions": ["approve", "edit", "respond", "reject"],
    }
    assert oracle.lines == []


@pytest.mark.parametrize(
    ("said", "effects", "answer"),
    [
        ("approve", ["pay:500:a"], {"paid": 500}),
        ({"type": "approve"}, ["pay:500:a"], {"paid": 500}),
        ({"type": "edit", "args": {"cents": 7, "to": "b"}}, ["pay:7:b"], {"paid": 7}),
        ({"type": "respond", "message": {"paid": 0}}, [], {"paid": 0}),
        ({"type": "reject", "message": "too much"}, [], {"error": "too much"}),
        ({"confirmed": True, "payload": {"args": {"cents": 8}}}, ["pay:8:a"], {"paid": 8}),
    ],
)
async def test_what_the_person_says_is_what_happens(paying, oracle, said, effects, answer):
    chat = paying(True)
    await chat.say()
    events = await chat.answer(said)
    assert oracle.lines == effects
    assert responses(events) == {"pay": answer}
    assert words(events) == ["done"]
    assert await chat.pending() == []


async def test_a_plain_no_tells_the_model_not_to_try_again(paying, oracle):
    chat = paying(True)
    await chat.say()
    events = await chat.answer("reject")
    told = "A person decided that this call is not run. Do not call it again unless the user asks for it."
    assert responses(events) == {"pay": {"error": told}}
    assert oracle.lines == []


async def test_a_confirm_function_asks_about_the_calls_that_it_picks(paying, oracle):
    chat = paying(over_100, ask("pay", cents=100), ask("pay", cents=101))
    await chat.say()
    before = oracle.lines
    (asked,) = await chat.pending()

    await chat.answer("approve")

    assert (before, asked.arguments) == (["pay:100:a"], {"cents": 101})
    assert oracle.lines == ["pay:100:a", "pay:101:a"]
