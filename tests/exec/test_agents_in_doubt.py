"""Agents and calls in doubt: each inner call is asked about by itself, before anything is written, and only if it matters."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.exec.agents_kit import Bench, Killed, agent, ask, play, shown

from agent_adapter import RecoveryNeedsDecision, Tool, ToolUsageError, tool
from agent_adapter.exec import DoNotRun, Happened, Rerun
from agent_adapter.exec.checkpoints import DurableStore

OUTER = (ask("helper", task="t"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


async def test_an_inner_call_in_doubt_is_asked_about_and_nothing_is_written(bench: Bench):
    """Item 86: named with its arguments, its key and the idempotency key that its body saw."""
    tools = [agent(play([ask("charge", cents=5)], "helped"), bench.charge)]
    model = play(OUTER, "done")
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    before, asked = (await bench.step(), await bench.records()), []
    for _ in range(2):
        with pytest.raises(RecoveryNeedsDecision) as doubt:
            await bench.recover(model, tools)
        asked.append(doubt.value)
        assert bench.worker.writes == 0
    assert asked[0].run_id == "run-1"
    (call,) = asked[0].calls
    assert (call.tool, call.arguments, call.owner_known_dead) == ("charge", {"cents": 5}, True)
    assert call.key.startswith("helper:")
    assert call.idempotency_key == bench.keys[0]
    assert asked[1].calls == asked[0].calls
    assert ((await bench.step(), await bench.records()), bench.ran) == (before, [("charge", 5)])


ENDS = {
    "rerun": (Rerun(), "charged 5", 2),
    "happened": (Happened("charged, says the bank"), "charged, says the bank", 1),
    "do not run": (DoNotRun("too late"), "DoNotRun: too late", 1),
}


@pytest.mark.parametrize(("decision", "told", "times"), ENDS.values(), ids=ENDS.keys())
async def test_a_decision_about_an_inner_call_counts_for_that_call(
    bench: Bench, decision: Any, told: str, times: int
):
    """Item 86: by question id."""
    helper_model = play([ask("charge", cents=5)], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge)]
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await bench.recover(model, tools)
    (call,) = doubt.value.calls
    result = await bench.recover(model, tools, decisions={call.question_id: decision})
    assert (result.status, shown(helper_model)[-1]) == ("done", told)
    assert bench.ran == [("charge", 5)] * times
    assert len(set(bench.keys)) == 1


def dying_together(bench: Bench, number: int) -> Tool:
    """The tool `charge`, whose worker dies once so many of its calls have begun; afterwards it works."""
    begun = asyncio.Barrier(number)

    @tool
    async def charge(cents: int) -> str:
        bench.ran.append(("charge", cents))
        if len(bench.ran) <= number:
            await begun.wait()
            bench.die()
        return f"charged {cents}"

    return charge


async def test_every_call_in_doubt_is_named_also_equal_ones_and_those_two_agents_deep(bench: Bench):
    """Items 86, 91: equal calls are two questions, and an answer to one is none to the other."""
    charge = dying_together(bench, 3)
    deep_model = play([ask("charge", "a", cents=5), ask("charge", "b", cents=5)], "deep done")
    deep = agent(deep_model, charge, name="deep")
    helper_model = play([ask("deep", task="d"), ask("charge", cents=7)], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, deep, charge)]
    with pytest.raises(Killed):
        await bench.run(model, tools)
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await bench.recover(model, tools)
    asked = {call.question_id: call.arguments["cents"] for call in doubt.value.calls}
    assert sorted(asked.values()) == [5, 5, 7]
    first = next(name for name, cents in asked.items() if cents == 5)
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await bench.recover(model, tools, decisions={first: Happened("by hand")})
    assert {call.question_id for call in doubt.value.calls} == asked.keys() - {first}
    assert bench.worker.writes == 0
    rerun = {name: Rerun() for name in asked} | {first: Happened("by hand")}
    result = await bench.recover(model, tools, decisions=rerun)
    assert result.status == "done"
    assert sorted(shown(deep_model)[2:]) == ["by hand", "charged 5"]
    assert sorted(cents for _, cents in bench.ran[3:]) == [5, 7]


async def test_rerun_in_doubt_covers_inner_calls(bench: Bench):
    """Item 87: whoever says so has checked every call in doubt, wherever it stands."""
    deep = agent(play([ask("charge", cents=5)], "deep done"), bench.charge, name="deep")
    model, tools = play(OUTER, "done"), [agent(play([ask("deep", task="d")], "helped"), deep)]
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools, rerun_in_doubt=True)
    assert (result.status, bench.ran) == ("done", [("charge", 5)] * 2)
    assert bench.keys[0] == bench.keys[1]


async def test_an_idempotent_inner_call_runs_again_unasked(bench: Bench):
    """Item 87."""
    model, tools = play(OUTER, "done"), [agent(play([ask("note", text="x")], "helped"), bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("note", "x")] * 2)


async def test_the_missing_tool_of_an_unfinished_inner_call_is_named_before_anything_is_written(
    bench: Bench,
):
    """Item 103."""
    model, helper_model = play(OUTER, "done"), play([ask("charge", cents=5)], "helped")
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, [agent(helper_model, bench.charge)])
    with pytest.raises(ToolUsageError, match="charge"):
        await bench.recover(model, [agent(helper_model)], rerun_in_doubt=True)
    assert bench.worker.writes == 0


async def test_nobody_is_asked_about_the_calls_of_an_agent_that_ended(bench: Bench):
    """Item 88: it was given up and its end is recorded; whatever a person said would change nothing."""

    @tool
    async def charge(cents: int) -> str:
        bench.ran.append(("charge", cents))
        await asyncio.Event().wait()
        return ""

    helper = agent(play([ask("charge", cents=5)], "helped"), charge, timeout=0.05)
    model, tools = play([*OUTER, ask("note", text="x")], "done"), [helper, bench.note]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1)
    assert ("helper", "done") in await bench.records()
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran.count(("charge", 5))) == ("done", 1)


async def test_the_probe_of_an_inner_tool_is_asked_before_a_person(bench: Bench):
    """Item 86: with the arguments and the key that its body saw."""
    asked: list[tuple[Any, str]] = []

    async def bank(arguments: Any, key: str) -> Happened:
        asked.append((arguments, key))
        return Happened("the bank has it")

    helper_model = play([ask("charge", cents=5)], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, replace(bench.charge, reconcile=bank))]
    bench.dies_in = {"charge"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    result = await bench.recover(model, tools)
    assert (result.status, shown(helper_model)[-1]) == ("done", "the bank has it")
    assert bench.ran == [("charge", 5)]
    assert asked == [({"cents": 5}, bench.keys[0])]
