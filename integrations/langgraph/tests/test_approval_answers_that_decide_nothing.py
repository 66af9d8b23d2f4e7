"""An answer that is empty, short, unknown, stale or for another call approves nothing: everything waits on, with a note."""

from typing import Any

import pytest
from lg_approvals import APPROVE, Office, edit, notes, requests
from lg_scripted import answers, ask, interrupts

TURN = ask(("look", "0", "c0"), ("pay", "1", "c1"), ("mail", "2", "c2"))
# What has run when the turn waits.
FREE = {"node": ["look:0"], "agent": []}
SHOWN = {"c1": ("approval", {"x": "1"}), "c2": ("approval", {"x": "2"})}
MISFITS: dict[str, Any] = {
    "nothing": {},
    "an empty list": {"decisions": []},
    "too few": {"decisions": [APPROVE]},
    "too many": {"decisions": [APPROVE] * 3},
    "one for two": APPROVE,
    "a word for two": "approve",
    "a yes for two": True,
    "an unknown word": {"decisions": [APPROVE, "okay"]},
    "an unknown type": {"decisions": [APPROVE, {"type": "accept-all"}]},
    "none of it said": {"decisions": [APPROVE, None]},
    "a refusal with a number": {"c1": APPROVE, "c2": {"type": "reject", "message": 5}},
    "another call": {"c1": APPROVE, "c9": APPROVE},
    "a call that ran": {"c0": APPROVE},
    "a bare question id": {"0" * 32: APPROVE},
    "an unknown request": {"q-" + "0" * 32: APPROVE},
    "a tool": {"pay": APPROVE, "mail": APPROVE},
    "decisions and more": {"decisions": [APPROVE, APPROVE], "by": "ann"},
    "an edit to another tool": {"c1": edit("mail", "1"), "c2": APPROVE},
    "edits the wrong way round": {"decisions": [edit("mail", "3"), edit("pay", "4")]},
    "an edit without arguments": {
        "c1": {"type": "edit", "edited_action": {"name": "pay"}},
        "c2": APPROVE,
    },
}


@pytest.fixture(params=["node", "agent"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("answer", MISFITS.values(), ids=MISFITS)
async def test_both_calls_wait_on_and_the_request_says_why(answer, way, tmp_path, driver):
    """Item 120; field report B18: positions count at full length only."""
    office = Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))
    (asked,) = interrupts(await office.go())

    still = await office.answer({asked.id: answer})

    (again,) = interrupts(still)
    assert (again.id, requests(still)) == (asked.id, SHOWN)
    assert "nothing was decided" in again.value["note"]
    assert answers(still) == {}
    assert office.ran == FREE[way]


async def test_after_it_a_good_answer_counts(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))
    asked = await office.go()
    await office.answer({each.id: "okay" for each in interrupts(asked)})

    done = await office.decide(asked, c1=APPROVE, c2=APPROVE)

    assert answers(done) == {"c0": "look 0 done", "c1": "pay 1 done", "c2": "mail 2 done"}
    assert sorted(office.ran) == ["look:0", "mail:2", "pay:1"]


async def test_an_answer_to_an_unknown_interrupt_decides_nothing(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))
    await office.go()

    still = await office.answer({"0" * 32: {"decisions": [APPROVE, APPROVE]}})

    assert requests(still) == SHOWN
    assert office.ran == FREE[way]


@pytest.mark.parametrize("way", ["node"])
async def test_the_answer_of_one_call_does_not_approve_the_other(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))
    asked = await office.go()

    still = await office.decide(asked, c2=APPROVE)

    assert requests(still) == {"c1": SHOWN["c1"]}
    assert office.ran == ["look:0", "mail:2"]


async def test_a_stale_answer_never_approves_a_later_call_of_the_tool(way, tmp_path, driver):
    """Item 116: one decision answers one request, also for an equal call of the next turn."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), ask(("pay", "1", "c2")))
    first = await office.go()
    second = await office.decide(first, c1=APPROVE)

    answer = {interrupts(first)[0].id: {"c1": APPROVE}}
    still = [requests(await office.answer(answer)) for _ in range(2)]
    still.append(requests(await office.again()))

    assert requests(second) == {"c2": ("approval", {"x": "1"})}
    assert still == [requests(second)] * 3
    assert office.ran == ["pay:1"]


async def test_a_stale_bare_answer_never_approves_a_later_call(way, tmp_path, driver):
    """A scalar that the framework keeps for whatever asks next is used once."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), ask(("pay", "1", "c2")))
    await office.go()
    second = await office.answer("approve")

    still = [requests(await office.again()) for _ in range(3)]

    assert still == [requests(second)] * 3 == [{"c2": ("approval", {"x": "1"})}] * 3
    assert office.ran == ["pay:1"]


async def test_a_call_id_that_the_server_uses_again_is_another_call(way, tmp_path, driver):
    """Items 116, 117: neither the id nor the tool carries an approval into the next turn."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), ask(("pay", "900", "c1")))
    first = await office.go()
    await office.decide(first, c1=APPROVE)

    still = await office.decide(first, c1=APPROVE)

    assert requests(still) == {"c1": ("approval", {"x": "900"})}
    assert office.ran == ["pay:1"]


async def test_a_message_instead_of_an_answer_approves_nothing(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))
    await office.go()

    await office.go({"messages": [("user", "yes, approve it")]})

    assert office.ran == []


async def test_an_edit_that_the_tool_does_not_accept_is_a_note(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))

    still = await office.decide(await office.go(), c1=edit("pay", 7))

    assert "does not accept the edited arguments" in notes(still)[0]
