"""LangChain's own human-in-the-loop middleware with our record inside, and what our gate does better than it."""

from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.types import Command
from lg_approvals import APPROVE, CONFIRM, REJECT, Office, edit, notes, requests
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, bare_app, interrupts

from agent_adapter import ConfigError

TURN = ask(("pay", "/x", "c1"), ("mail", "a", "c2"))


@pytest.fixture
def way() -> str:
    return "agent"


def theirs(**options: Any) -> Any:
    on: Any = options or {"pay": True, "mail": True}
    return lambda: [HumanInTheLoopMiddleware(interrupt_on=on)]


async def test_their_decisions_work_and_our_record_replays(way, tmp_path, driver):
    """With `gate=False` one side asks, so nobody is asked twice."""
    office = Office(tmp_path, driver, way, TURN, inside=theirs(), gate=False)
    await office.go()

    done = await office.answer({"decisions": [APPROVE, REJECT]})
    again = await office.again()

    assert answers(done)["c1"] == "pay /x done"
    assert "too much" in answers(done)["c2"]
    assert again["messages"] == done["messages"]
    assert office.ran == ["pay:/x"]


async def test_their_edit_is_what_our_record_shows(way, tmp_path, driver):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    turn = ask(("pay", "1", "c1"))
    office = Office(tmp_path, driver, way, turn, bodies={"pay": fails}, inside=theirs(), gate=False)
    await office.go()
    with pytest.raises(TimeoutError):
        await office.answer({"decisions": [edit("pay", "7")]})

    asked = await office.again()

    assert requests(asked) == {"c1": ("raised", {"x": "7"})}
    assert office.ran == ["pay:7"]


async def test_two_that_would_ask_about_one_tool_are_refused_by_name(way, tmp_path, driver):
    """Each would ask about what the other has not changed yet."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), inside=theirs(pay=True))
    with pytest.raises(ConfigError, match=r"HumanInTheLoopMiddleware .* pay: pass gate=False"):
        await office.go()
    assert office.ran == []


async def test_decisions_in_the_users_own_order_reach_the_right_calls(way, tmp_path, driver):
    """The human rejects pay and approves mail; the interface lists mail first."""
    office = Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))
    (asked,) = interrupts(await office.go())
    cards = dict(zip(asked.value["tool_call_ids"], asked.value["request_ids"], strict=True))

    done = await office.answer({asked.id: {cards["c2"]: APPROVE, cards["c1"]: REJECT}})

    assert answers(done) == {"c1": "too much", "c2": "mail a done"}
    assert office.ran == ["mail:a"]


async def test_control_langchain_takes_them_by_position(driver, oracle):
    tools = [oracle.tool("pay"), oracle.tool("mail")]
    app = bare_app("agent", ScriptedChat(TURN), tools, driver.saver, *theirs()())
    await driver.invoke(app, GO)

    await driver.invoke(app, Command(resume={"decisions": [APPROVE, REJECT]}), THREAD)

    assert oracle.lines == ["pay:/x"]


async def test_an_edit_into_another_tool_decides_nothing(way, tmp_path, driver):
    office = Office(
        tmp_path, driver, way, ask(("mail", "x", "c1")), confirm={"mail": CONFIRM, "pay": CONFIRM}
    )

    still = await office.decide(await office.go(), c1=edit("pay", "all"))

    assert requests(still) == {"c1": ("approval", {"x": "x"})}
    assert "nothing was decided" in notes(still)[0]
    assert office.ran == []


async def test_an_edit_of_theirs_into_another_tool_meets_that_tools_gate(way, tmp_path, driver):
    """Also inside our gate: what a call is turned into waits as what it is."""
    on: Any = {"mail": {"allowed_decisions": ["edit"]}}
    office = Office(
        tmp_path,
        driver,
        way,
        ask(("mail", "x", "c1")),
        inside=theirs(**on),
        confirm=("pay",),
    )
    await office.go()

    state = await office.answer({"decisions": [edit("pay", "all")]})

    assert office.ran == []
    assert [given for _, given in requests(state).values()] == [{"x": "all"}]
