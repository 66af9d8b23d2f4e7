"""Several calls of one turn that need approval: shown together, decided one by one, and each runs at most once."""

import pytest
from lg_approvals import APPROVE, CONFIRM, REJECT, Office, edit, notes, requests
from lg_scripted import answers, ask, interrupts

TURN = ask(
    ("look", "0", "c0"),
    ("pay", "1", "c1"),
    ("pay", "2", "c2"),
    ("mail", "3", "c3"),
    ("mail", "4", "c4"),
)
DECISIONS = {
    "c1": APPROVE,
    "c2": REJECT,
    "c3": edit("mail", "30"),
    "c4": {"type": "respond", "message": "sent by hand"},
}
# What has run when a turn waits.
FREE = {"node": ["look:0"], "agent": []}
DONE = {
    "c0": "look 0 done",
    "c1": "pay 1 done",
    "c2": "too much",
    "c3": "mail 30 done",
    "c4": "sent by hand",
}
in_a_node = pytest.mark.parametrize("way", ["node"])


@pytest.fixture(params=["node", "agent"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def office(tmp_path, driver, way) -> Office:
    return Office(tmp_path, driver, way, TURN, confirm=("pay", "mail"))


async def test_everything_that_waits_is_shown_and_only_the_rest_of_the_turn_has_run(office, way):
    """An agent's questions come before its tools, a node's when its free calls have ended."""
    asked = await office.go()

    assert requests(asked) == {
        "c1": ("approval", {"x": "1"}),
        "c2": ("approval", {"x": "2"}),
        "c3": ("approval", {"x": "3"}),
        "c4": ("approval", {"x": "4"}),
    }
    assert office.ran == FREE[way]


async def test_the_calls_of_one_turn_are_one_request_of_the_known_kind(office):
    (asked,) = interrupts(await office.go())

    assert asked.value["review_configs"] == [
        {"action_name": name, "allowed_decisions": ["approve", "edit", "respond", "reject"]}
        for name in ("pay", "mail")
    ]
    assert [each["name"] for each in asked.value["action_requests"]] == [
        "pay",
        "pay",
        "mail",
        "mail",
    ]
    assert len(set(asked.value["request_ids"])) == 4
    assert all(len(name) != 32 for name in asked.value["request_ids"])
    assert "note" not in asked.value


async def test_mixed_decisions_by_call_id(office):
    """Items 113, 118, 121."""
    done = await office.decide(await office.go(), **DECISIONS)

    assert answers(done) == DONE
    assert sorted(office.ran) == ["look:0", "mail:30", "pay:1"]


async def test_mixed_decisions_by_request_id(office):
    asked = await office.go()
    names = {
        call: name
        for each in interrupts(asked)
        for call, name in zip(each.value["tool_call_ids"], each.value["request_ids"], strict=True)
    }

    done = await office.answer(
        {
            each.id: {names[call]: DECISIONS[call] for call in each.value["tool_call_ids"]}
            for each in interrupts(asked)
        }
    )

    assert answers(done) == DONE
    assert sorted(office.ran) == ["look:0", "mail:30", "pay:1"]


async def test_mixed_decisions_in_the_order_shown(office):
    asked = await office.go()

    done = await office.answer(
        {
            each.id: {"decisions": [DECISIONS[call] for call in each.value["tool_call_ids"]]}
            for each in interrupts(asked)
        }
    )

    assert answers(done) == DONE
    assert sorted(office.ran) == ["look:0", "mail:30", "pay:1"]


async def test_an_answer_without_a_name_may_decide_all_of_them(office):
    """All are one interrupt, so it is clear which one is meant."""
    await office.go()

    done = await office.answer({"decisions": list(DECISIONS.values())})

    assert answers(done) == DONE


@in_a_node
async def test_decisions_may_come_one_by_one_in_any_order(office):
    """Field report B48: the model goes on once, when all are answered."""
    asked = await office.go()

    for name in ("c3", "c1", "c4"):
        asked = await office.decide(asked, **{name: DECISIONS[name]})
    waiting = requests(asked)
    done = await office.decide(asked, c2=DECISIONS["c2"])

    assert waiting == {"c2": ("approval", {"x": "2"})}
    assert answers(done) == DONE
    assert sorted(office.ran) == ["look:0", "mail:30", "pay:1"]
    assert len(office.chat.seen) == 2


@pytest.mark.parametrize("way", ["agent"])
async def test_an_agents_answer_that_leaves_a_call_open_decides_none_and_says_so(office):
    """What is short leaves everything parked, with the reason."""
    asked = await office.go()

    still = await office.decide(asked, c1=APPROVE, c2=REJECT, c3=APPROVE)

    assert requests(still) == requests(asked)
    assert office.ran == []
    assert "nothing was decided" in notes(still)[0]


async def test_unanswered_it_stays_as_it_is_however_often_it_is_resumed(office, way):
    """Item 114: same questions, no model call, nothing run."""
    asked = await office.go()

    later = [interrupts(await office.again()) for _ in range(3)]

    shown = {each.id: each for each in interrupts(asked)}
    assert [{each.id: each for each in again} for again in later] == [shown] * 3
    assert office.ran == FREE[way]
    assert len(office.chat.seen) == 1


async def test_a_refused_call_says_so_to_the_model_and_is_over(office):
    """Item 118."""
    asked = await office.go()
    done = await office.decide(asked, **dict.fromkeys(DECISIONS, False))
    refused = [each for each in done["messages"] if getattr(each, "tool_call_id", "c0") != "c0"]

    later = await office.decide(asked, **dict.fromkeys(DECISIONS, True))

    assert {each.status for each in refused} == {"error"}
    assert later["messages"] == done["messages"]
    assert office.ran == ["look:0"]


@in_a_node
async def test_a_call_in_doubt_beside_one_that_waits_is_asked_in_the_same_request(
    tmp_path, driver, way
):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    turn = ask(("look", "0", "c0"), ("mail", "1", "c1"), ("pay", "2", "c2"), ("pay", "3", "c3"))
    office = Office(tmp_path, driver, way, turn, bodies={"mail": fails})
    with pytest.raises(TimeoutError):
        await office.go()

    asked = await office.again()
    (one,) = interrupts(asked)
    done = await office.answer({"decisions": [{"type": "respond", "message": "sent"}, True, False]})

    assert requests(asked) == {
        "c1": ("raised", {"x": "1"}),
        "c2": ("approval", {"x": "2"}),
        "c3": ("approval", {"x": "3"}),
    }
    assert [each["allowed_decisions"] for each in one.value["review_configs"]] == [
        ["approve", "respond", "reject"],
        ["approve", "edit", "respond", "reject"],
    ]
    assert answers(done).items() >= {("c1", "sent"), ("c2", "pay 2 done")}
    # The first two run side by side.
    assert (sorted(office.ran[:2]), office.ran[2:]) == (["look:0", "mail:1"], ["pay:2"])


@in_a_node
async def test_an_edit_of_the_doubt_beside_it_decides_nothing(tmp_path, driver, way):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    turn = ask(("mail", "1", "c1"), ("pay", "2", "c2"))
    confirm = {"pay": CONFIRM, "mail": CONFIRM}
    office = Office(tmp_path, driver, way, turn, bodies={"mail": fails}, confirm=confirm)
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=APPROVE)
    await office.again()

    still = await office.answer({"decisions": [edit("mail", "9"), APPROVE]})

    assert "nothing was decided" in notes(still)[0]
    assert requests(still) == {"c1": ("raised", {"x": "1"}), "c2": ("approval", {"x": "2"})}
    assert office.ran == ["mail:1"]
