"""A person edits a call before it runs: only the edited arguments run, and only if the tool accepts them."""

from typing import Any

import pytest
from lg_approvals import APPROVE, Office, edit, notes, requests
from lg_scripted import answers, ask, interrupts

from agent_adapter import ToolPolicy

TURN = ask(("pay", "1", "c1"))
SHOWN = {"c1": ("approval", {"x": "1"})}


@pytest.fixture(params=["node", "agent", "wrapped"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fails(_: str) -> str:
    raise TimeoutError("no answer")


@pytest.mark.parametrize(
    "said",
    [
        edit("pay", "7"),
        {"type": "edit", "args": {"action": "pay", "args": {"x": "7"}}},
        [{"type": "edit", "args": {"action": "pay", "args": {"x": "7"}}}],
        {"decisions": [edit("pay", "7")]},
    ],
    ids=["request", "inbox", "inbox list", "decisions"],
)
async def test_the_edited_arguments_run_and_no_others(said, way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN)
    (asked,) = interrupts(await office.go())

    done = await office.answer({asked.id: said})

    assert answers(done) == {"c1": "pay 7 done"}
    assert office.ran == ["pay:7"]


async def test_a_doubt_about_an_edited_call_shows_what_was_really_run(way, tmp_path, driver):
    """Field report B39: what is edited is what is executed, recorded and shown."""
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails})
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=edit("pay", "7"))

    asked = await office.again()

    assert requests(asked) == {"c1": ("raised", {"x": "7"})}
    assert office.ran == ["pay:7"]


async def test_run_again_means_run_the_edited_call_again(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails})
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=edit("pay", "7"))
    office.bodies["pay"] = None

    done = await office.decide(await office.again(), c1=APPROVE)

    assert answers(done) == {"c1": "pay 7 done"}
    assert office.ran == ["pay:7", "pay:7"]


async def test_an_edited_repeatable_call_is_repeated_as_edited(way, tmp_path, driver):
    """Item 115: the decision is never lost, and so is not asked for twice."""
    confirm = {"pay": ToolPolicy(confirm=True, idempotent=True)}
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails}, confirm=confirm)
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=edit("pay", "7"))
    office.bodies["pay"] = None

    done = await office.again()

    assert answers(done) == {"c1": "pay 7 done"}
    assert office.ran == ["pay:7", "pay:7"]


@pytest.mark.parametrize(
    "args", [{"y": "7"}, {"x": 7}, {}, {"x": None}, {"x": {"$bytes": "x"}}], ids=repr
)
async def test_arguments_that_the_tool_does_not_accept_leave_the_call_waiting(
    args, way, tmp_path, driver
):
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    said: Any = {"type": "edit", "edited_action": {"name": "pay", "args": args}}

    still = await office.decide(asked, c1=said)
    again = await office.again()
    ran_before = office.ran
    done = await office.decide(again, c1=APPROVE)

    assert requests(still) == requests(again) == SHOWN
    assert notes(still) == ["the tool does not accept the edited arguments; nothing was decided"]
    assert ran_before == []
    assert answers(done) == {"c1": "pay 1 done"}


async def test_an_argument_that_the_tool_does_not_have_is_not_dropped(way, tmp_path, driver):
    """Field report B39: a misspelt argument would silently run the default instead."""
    office = Office(tmp_path, driver, way, TURN)
    said = {"type": "edit", "edited_action": {"name": "pay", "args": {"x": "7", "currncy": "EUR"}}}

    still = await office.decide(await office.go(), c1=said)

    assert requests(still) == SHOWN
    assert office.ran == []


async def test_an_edit_keeps_the_tool(way, tmp_path, driver):
    """Field report B39: an edit never turns a call into one of another tool."""
    office = Office(tmp_path, driver, way, TURN)

    still = await office.decide(await office.go(), c1=edit("mail", "1"))

    assert requests(still) == SHOWN
    assert "nothing was decided" in notes(still)[0]
    assert office.ran == []


async def test_the_edit_counts_once(way, tmp_path, driver):
    """Item 116: a later call with the arguments as edited waits for a person of its own."""
    office = Office(tmp_path, driver, way, TURN, ask(("pay", "7", "c2")))
    first = await office.go()

    second = await office.decide(first, c1=edit("pay", "7"))

    assert requests(second) == {"c2": ("approval", {"x": "7"})}
    assert office.ran == ["pay:7"]
