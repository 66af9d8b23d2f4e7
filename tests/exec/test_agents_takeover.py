"""Agents and two workers: one that was cut off inside an agent starts nothing more, and a cancelled run can be taken up."""

import asyncio
from typing import Any

import pytest
from tests.exec.agents_kit import Bench, agent, ask, play, said

from agent_adapter import CheckpointConflict, RecoveryNeedsDecision, Tool, tool
from agent_adapter.exec.checkpoints import DurableStore

OUTER = (ask("helper", task="t"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


class Held:
    """A tool that may run twice; its first body waits until the test lets it go."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    @property
    def tool(self) -> Tool:
        @tool(idempotent=True)
        async def hold() -> str:
            if not self.begun.is_set():
                self.begun.set()
                await self.go.wait()
            return "held"

        return hold


async def test_a_worker_that_was_cut_off_inside_an_agent_starts_no_further_call(bench: Bench):
    """Item 98: its run was taken over and ended meanwhile."""
    held = Held()
    helper_model = play([ask("hold")], [ask("charge", cents=5)], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, held.tool, bench.charge)]
    first = asyncio.create_task(bench.run(model, tools))
    await held.begun.wait()
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("charge", 5)])
    held.go.set()
    with pytest.raises(CheckpointConflict):
        await first
    assert bench.ran == [("charge", 5)]
    assert (await bench.step())[1] == "done"


async def test_a_worker_that_was_cut_off_before_an_inner_call_does_not_begin_it(bench: Bench):
    """Items 98, 111: it waits for its model while another worker pauses at the same call."""
    thinking, go = asyncio.Event(), asyncio.Event()

    async def slowly(_: Any) -> Any:
        if not thinking.is_set():
            thinking.set()
            await go.wait()
        return [ask("charge", cents=5), ask("mail", to="x")]

    helper_model = play(slowly, "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge, bench.mail)]
    first = asyncio.create_task(bench.run(model, tools))
    await thinking.wait()
    paused = await bench.recover(model, tools)
    assert (paused.status, bench.ran) == ("paused", [("charge", 5)])
    go.set()
    with pytest.raises(CheckpointConflict):
        await first
    assert bench.ran == [("charge", 5)]
    assert (await bench.step())[1] == "paused"


async def test_a_cut_off_worker_begins_no_call_that_its_successor_has_not_begun_either(
    bench: Bench,
):
    """Item 98: there is no record yet that could stop it; both wait for the agent's model."""
    thinking, go = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]

    async def slowly(_: Any) -> Any:
        worker = len(helper_model.requests) - 1
        thinking[worker].set()
        await go[worker].wait()
        return [ask("charge", cents=5)]

    helper_model = play(slowly, "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge)]
    first = asyncio.create_task(bench.run(model, tools))
    await thinking[0].wait()
    second = asyncio.create_task(bench.recover(model, tools))
    await thinking[1].wait()
    go[0].set()
    with pytest.raises(CheckpointConflict):
        await first
    assert bench.ran == []
    go[1].set()
    assert ((await second).status, bench.ran) == ("done", [("charge", 5)])


async def test_of_two_workers_that_recover_at_once_one_runs_the_approved_inner_call(bench: Bench):
    """Items 97, 115: the others are told that they lost, or look while it is in the body."""
    model, tools = play(OUTER, "done"), [agent(play([ask("mail", to="x")], "helped"), bench.mail)]
    paused = await bench.run(model, tools)
    await bench.decide(paused.pending)
    ends = await asyncio.gather(
        *(bench.recover(model, tools) for _ in range(4)), return_exceptions=True
    )
    lost = [end for end in ends if isinstance(end, CheckpointConflict | RecoveryNeedsDecision)]
    (won,) = [end for end in ends if not isinstance(end, BaseException)]
    assert (len(lost), won.status, bench.ran) == (3, "done", [("mail", "x")])


async def test_a_cancelled_run_leaves_its_agents_call_in_doubt_and_nobody_waits_for_it(
    bench: Bench,
):
    """Item 104: it was awaited, so its worker is known to be done with it although it lives."""
    begun = asyncio.Event()

    @tool
    async def hang(n: int) -> str:
        bench.ran.append(("hang", n))
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return f"hung {n}"

    helper_model = play([ask("charge", cents=1)], [ask("hang", n=1)], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge, hang)]
    running = asyncio.create_task(bench.run(model, tools))
    await begun.wait()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await bench.recover(model, tools)
    assert [(call.tool, call.owner_known_dead) for call in doubt.value.calls] == [("hang", True)]
    result = await bench.recover(model, tools, rerun_in_doubt=True)
    assert said(result)[2] == ("tool", "helped")
    assert bench.ran == [("charge", 1), ("hang", 1), ("hang", 1)]
