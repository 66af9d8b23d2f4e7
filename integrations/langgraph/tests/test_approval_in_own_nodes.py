"""Executor calls in a durable node that need approval: the node pauses the graph, and each decision reaches its own call."""

from typing import Any

import pytest
from langgraph.types import Command
from lg_approvals import APPROVE, REJECT, edit, notes, requests
from lg_scripted import interrupts
from lg_shop import Port, Shop, run, run_many, said, shown

from agent_adapter import (
    ApprovalDecision,
    ToolCall,
    ToolDenied,
)

THREE = [ToolCall(f"c{n}", "pay", {"x": str(n)}) for n in (1, 2, 3)]


ONE = run("look", "0"), run("pay", "1")
WAITS = [("approval", "1")]


async def test_the_node_pauses_and_an_approved_call_runs_once(tmp_path, driver):
    """Item 113."""
    shop = Shop(tmp_path, driver, *ONE)

    asked = await shop.begin()
    again = await shop.go()
    ran_before = shop.ran
    done = await shop.decide(again, x1=APPROVE)

    assert shown(asked) == shown(again) == WAITS
    assert ran_before == ["look:0"]
    assert done["out"] == ["look 0 done", "pay 1 done"]
    assert shop.ran == ["look:0", "pay:1"]


async def test_a_bare_answer_counts_where_one_call_waits(tmp_path, driver):
    shop = Shop(tmp_path, driver, *ONE)
    await shop.begin()

    done = await shop.go(Command(resume="approve"))

    assert done["out"] == ["look 0 done", "pay 1 done"]


async def test_a_denied_call_raises_in_the_node_with_the_reason(tmp_path, driver):
    """Item 118."""
    shop = Shop(tmp_path, driver, *ONE)

    with pytest.raises(ToolDenied, match="too much"):
        await shop.decide(await shop.begin(), x1=REJECT)
    with pytest.raises(ToolDenied, match="too much"):
        await shop.go()

    assert shop.ran == ["look:0"]


async def test_an_edited_call_runs_as_edited(tmp_path, driver):
    shop = Shop(tmp_path, driver, *ONE)

    done = await shop.decide(await shop.begin(), x1=edit("pay", "7"))

    assert done["out"] == ["look 0 done", "pay 7 done"]
    assert shop.ran == ["look:0", "pay:7"]


@pytest.mark.parametrize("args", [{}, {"y": "7"}, {"x": "7", "more": 1}], ids=repr)
async def test_an_edit_that_does_not_fit_leaves_the_call_waiting(args, tmp_path, driver):
    shop = Shop(tmp_path, driver, *ONE)
    misfit = {"type": "edit", "edited_action": {"name": "pay", "args": args}}

    still = await shop.decide(await shop.begin(), x1=misfit)
    waiting = shown(still), notes(still), shop.ran
    done = await shop.decide(still, x1=APPROVE)

    note = "the tool does not accept the edited arguments; nothing was decided"
    assert waiting == (WAITS, [note], ["look:0"])
    assert done["out"] == ["look 0 done", "pay 1 done"]


@pytest.mark.parametrize("answer", ["okay", {}, {"decisions": [APPROVE, APPROVE]}], ids=repr)
async def test_what_is_not_understood_leaves_the_call_waiting(answer, tmp_path, driver):
    """Item 120."""
    shop = Shop(tmp_path, driver, *ONE)
    (asked,) = interrupts(await shop.begin())

    still = await shop.go(Command(resume={asked.id: answer}))

    assert shown(still) == WAITS
    assert "nothing was decided" in notes(still)[0]
    assert shop.ran == ["look:0"]


async def test_a_responded_call_has_that_value_and_never_runs(tmp_path, driver):
    shop = Shop(tmp_path, driver, *ONE)

    done = await shop.decide(await shop.begin(), x1={"type": "respond", "message": "paid by hand"})

    assert done["out"] == ["look 0 done", "paid by hand"]
    assert shop.ran == ["look:0"]


async def test_all_calls_of_a_batch_are_asked_about_at_once(tmp_path, driver):
    shop = Shop(tmp_path, driver, run_many(THREE))

    asked = await shop.begin()

    assert sorted(shown(asked)) == [("approval", n) for n in "123"]
    assert shop.ran == []


async def test_all_calls_of_a_batch_are_asked_about_in_their_order(tmp_path, driver):
    """A decision by position has to mean the same whenever it is read."""
    calls = [ToolCall(f"c{n}", "pay", {"x": n}) for n in "12345678"]
    shop = Shop(tmp_path, driver, run_many(calls))

    asked = [await shop.begin(), *[await shop.go() for _ in range(3)]]

    assert [shown(each) for each in asked] == [[("approval", n) for n in "12345678"]] * 4


async def test_a_call_is_named_as_the_node_named_it(tmp_path, driver):
    """A node that carries out a model's calls is answered by the model's ids."""
    shop = Shop(tmp_path, driver, run_many(THREE))

    asked = await shop.begin()

    assert requests(asked) == {f"c{n}": ("approval", {"x": n}) for n in "123"}


async def test_a_note_is_about_the_call_whose_answer_was_not_understood(tmp_path, driver):
    shop = Shop(tmp_path, driver, run_many(THREE))
    asked = await shop.begin()

    still = await shop.decide(asked, x1="okay")

    noted = {name: each for each in interrupts(still) for name in each.value["tool_call_ids"]}
    assert "nothing was decided" in noted["c1"].value["note"]
    assert ["note" in noted[name].value for name in ("c2", "c3")] == [False, False]


async def test_a_bare_answer_to_several_calls_is_refused(tmp_path, driver):
    """Item 120."""
    shop = Shop(tmp_path, driver, run_many(THREE))
    await shop.begin()

    with pytest.raises(RuntimeError, match="interrupt id"):
        await shop.go(Command(resume="approve"))
    still = await shop.go()

    assert len(shown(still)) == 3
    assert shop.ran == []


async def test_mixed_decisions_reach_each_call_of_a_batch(tmp_path, driver):
    shop = Shop(tmp_path, driver, run_many(THREE))

    done = await shop.decide(await shop.begin(), x1=APPROVE, x2=REJECT, x3=edit("pay", "30"))

    (results,) = done["out"]
    assert [said(each) for each in results] == [
        "pay 1 done",
        ("denied", "too much"),
        "pay 30 done",
    ]
    assert sorted(shop.ran) == ["pay:1", "pay:30"]


async def test_what_a_batch_has_not_been_told_about_waits_on(tmp_path, driver):
    """Item 121: what finished is not run again."""
    shop = Shop(tmp_path, driver, run_many(THREE))

    still = await shop.decide(await shop.begin(), x2=APPROVE)
    ran_before = shop.ran
    done = await shop.decide(still, x1=APPROVE, x3=REJECT)

    assert sorted(shown(still)) == [("approval", n) for n in "13"]
    assert ran_before == ["pay:2"]
    assert [said(each) for each in done["out"][0]] == [
        "pay 1 done",
        "pay 2 done",
        ("denied", "too much"),
    ]
    assert sorted(shop.ran) == ["pay:1", "pay:2"]


async def test_equal_calls_are_two_wishes_with_two_decisions(tmp_path, driver):
    """Item 116."""
    shop = Shop(tmp_path, driver, run("pay", "1"), run("pay", "1"))

    first = await shop.begin()
    second = await shop.decide(first, x1=APPROVE)
    stale = await shop.decide(first, x1=APPROVE)
    ran_before = shop.ran
    await shop.decide(stale, x1=APPROVE)

    assert len({*requests(first), *requests(second)}) == 2
    assert requests(stale) == requests(second)
    assert ran_before == ["pay:1"]
    assert shop.ran == ["pay:1", "pay:1"]


async def test_a_node_that_catches_everything_cannot_swallow_the_pause(tmp_path, driver):
    """Item 119: whatever the code around the call does, the body waits for a person, and so does the node."""

    def careless(executor: Any, twin: str = "") -> Any:
        if twin:
            try:
                return executor.run_sync("pay", {"x": "1"})
            except Exception:  # noqa: BLE001 - what the test is about
                return "went on"

        async def anyway() -> Any:
            try:
                return await executor.run("pay", {"x": "1"})
            except Exception:  # noqa: BLE001 - what the test is about
                return "went on"

        return anyway()

    shop = Shop(tmp_path, driver, careless)

    asked = [await shop.begin(), await shop.go()]
    ran_before = shop.ran
    done = await shop.decide(asked[1], x1=APPROVE)

    assert [shown(each) for each in asked] == [WAITS] * 2
    assert ran_before == []
    assert done["out"] == ["pay 1 done"]


@pytest.mark.parametrize("approved", [True, False])
async def test_without_a_gate_the_executors_own_port_decides(approved, tmp_path, driver):
    shop = Shop(tmp_path, driver, run_many([THREE[0]]))
    shop.settings = {"gate": False}
    shop.port = Port(ApprovalDecision(approved=approved, decided_by="ann", reason="so"))

    done = await shop.begin()
    again = await shop.go()

    assert said(done["out"][0][0]) == (
        "pay 1 done" if approved else ("denied", "denied by ann: so")
    )
    assert again["out"][0][0].status == done["out"][0][0].status
    assert shop.port.asked == [{"x": "1"}]
    assert shop.ran == (["pay:1"] if approved else [])


async def test_with_a_gate_a_port_is_not_asked(tmp_path, driver):
    shop = Shop(tmp_path, driver, *ONE)
    shop.port = Port(ApprovalDecision(approved=True))

    asked = await shop.begin()

    assert shown(asked) == WAITS
    assert shop.port.asked == []
