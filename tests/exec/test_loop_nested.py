"""What happens inside a call of a loop: agents, calls of a tool's own, pauses that escape, and limits."""

import asyncio

import pytest
from tests.exec.loop_kit import RUN, Lab, Outage, Tape, ask, said

from agent_adapter import (
    Executor,
    RecoveryNeedsDecision,
    Registry,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolCall,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import Happened, LoopAgent, Rerun, agent_tool, register_control_flow
from agent_adapter.testing.models import ScriptedModel


class Pause(Exception):
    """A framework's own interrupt."""


register_control_flow(Pause)


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


def clerk(lab, *script, tools=None):
    """An agent with the lab's tools among the loop's tools; its model is made anew each time."""
    model = ScriptedModel(script, by_history=True)
    agent = LoopAgent(model=model, tools=tools or lab.tools.subset(["charge", "mail", "note"]))
    if "clerk" in lab.tools:
        lab.without("clerk")
    lab.tools.add(agent_tool(agent, name="clerk", description="Does what it is told."))
    return model


async def test_an_agent_is_entered_again_and_what_it_finished_replays(lab):
    """Items 88 and 90: its replies and its calls are kept one by one."""
    turns = [ask("charge", cents=1)], [ask("charge", cents=2)]
    lab.play([ask("clerk", task="pay")], "done")
    for write in range(3, 11):
        await lab.store.delete(RUN)
        lab.tape = Tape(lab.store)
        lab.break_at(write)
        lab.ran.clear()
        first = clerk(lab, *turns, "paid")
        with pytest.raises(Outage):
            await lab.run()
        second = clerk(lab, *turns, "paid")
        try:
            result = await lab.recover()
        except RecoveryNeedsDecision as needed:
            [call] = needed.calls
            ran = call.idempotency_key in lab.keys
            word = Happened("charged") if ran else Rerun()
            result = await lab.recover(decisions={call.question_id: word})
        assert said(result)[2] == ("tool", "paid")
        assert lab.ran == [("charge", 1), ("charge", 2)]
        assert len(first.requests) + len(second.requests) <= 4


async def test_a_doubt_inside_an_agent_is_asked_before_anything_is_written(lab):
    """Item 86: and it names the call inside, not the agent."""
    lab.play([ask("clerk", task="pay")], "done")
    clerk(lab, [ask("charge", cents=1)], "paid")
    lab.break_at(5)
    with pytest.raises(Outage):
        await lab.run()
    assert lab.ran == [("charge", 1)]
    before = await lab.snapshot()
    lab.tape.writes.clear()
    for _ in range(2):
        with pytest.raises(RecoveryNeedsDecision) as raised:
            await lab.recover()
    [call] = raised.value.calls
    assert (call.tool, call.arguments, call.idempotency_key) == ("charge", {"cents": 1}, *lab.keys)
    assert call.key.startswith("clerk:")
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])


async def test_a_call_inside_an_agent_pauses_the_whole_run(lab):
    """Item 116: the agent's request is the run's, and each agent call has its own."""
    lab.play([ask("clerk", "a", task="x"), ask("clerk", "b", task="x")], "done")
    clerk(lab, [ask("mail", to="ann")], "sent")
    paused = await lab.run()
    first, second = paused.pending
    assert (paused.status, first.tool, first.run_id) == ("paused", "mail", RUN)
    assert first.id != second.id
    assert first.path.startswith("clerk:")
    await lab.decide()
    result = await lab.recover()
    assert lab.ran == [("mail", "ann")] * 2
    assert said(result)[2:] == [("tool", "sent"), ("tool", "sent"), ("assistant", "done")]


@pytest.mark.parametrize("now", ["gone", "takes more"])
async def test_a_finished_call_of_an_agent_that_cannot_be_made_again_is_refused_by_name(lab, now):
    """Items 88 and 103"""
    lab.play([ask("clerk", task="pay")], "done")
    clerk(lab, [ask("charge", cents=1)], "paid")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run()

    @tool
    async def charge(cents: int, currency: str = "EUR") -> str:
        lab.ran.append((currency, cents))
        return "charged"

    tools = Registry([charge] if now == "takes more" else [lab.tools.get("note")])
    clerk(lab, [ask("charge", cents=1)], "paid", tools=tools)
    with pytest.raises(ToolUsageError, match="charge"):
        await lab.recover()
    assert lab.ran == [("charge", 1)]


async def test_the_calls_of_a_tools_own_replay_when_the_tool_runs_again(lab):
    """Item 112"""
    charge, pauses = lab.tools.get("charge"), [Pause()]

    @tool(idempotent=True)
    async def twice() -> str:
        for cents in (1, 2):
            await lab.executor.run(charge, {"cents": cents})
            if pauses:
                raise pauses.pop()
        return "both"

    lab.tools.add(twice)
    lab.play([ToolCall("a", "twice")], "done")
    with pytest.raises(Pause):
        await lab.run()
    result = await lab.recover()
    assert (said(result)[2], lab.ran) == (("tool", "both"), [("charge", 1), ("charge", 2)])
    assert len(set(lab.keys)) == 2


async def test_a_pause_in_a_body_escapes_as_it_is_and_is_nobodys_result(lab):
    """Item 10: the other calls of the turn come to their end, and the call is in doubt."""

    def pause(cents):
        raise Pause

    lab.inside["charge"] = pause
    lab.play([ask("charge", cents=1), ask("note", text="a")], "done")
    with pytest.raises(Pause):
        await lab.run()
    states = {record.tool: record.state for record in await lab.records()}
    assert states == {"charge": "started", "note": "done"}
    lab.inside.clear()
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover()
    assert [call.tool for call in raised.value.calls] == ["charge"]
    await lab.recover(rerun_in_doubt=True)
    assert sorted(map(str, lab.ran)) == ["('charge', 1)", "('charge', 1)", "('note', 'a')"]


async def test_a_limit_that_an_agent_reaches_ends_the_loop_and_its_siblings(lab):
    """Item 155: the sibling is cancelled and awaited before the error is raised."""
    swept = []
    begun = asyncio.Event()

    async def hang(cents):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            swept.append(cents)

    async def after(request):
        await begun.wait()
        return [ask("note", text="a")]

    lab.inside["charge"] = hang
    lab.play([ask("clerk", task="x"), ask("charge", cents=1)], "done")
    clerk(lab, after, "done")
    with pytest.raises(RunLimitExceeded, match="max_model_calls"):
        await lab.run(ctx=RunContext(limits=RunLimits(max_model_calls=2)))
    assert swept == [1]
    assert await lab.status() == "running"


async def test_an_agents_steps_are_its_own(lab):
    """An agent that does not finish is a failed call, and the run around it goes on."""
    lab.play([ask("clerk", task="x")], "done")
    model = ScriptedModel([[ask("note", text=str(n))] for n in range(9)], by_history=True)
    agent = LoopAgent(model=model, tools=lab.tools.subset(["note"]), max_steps=2)
    lab.tools.add(agent_tool(agent, name="clerk", description="Never ends."))
    result = await lab.run()
    assert (result.status, result.messages[2].status, len(model.requests)) == ("done", "error", 2)


async def test_an_agents_usage_counts_for_the_run_after_a_recovery_too(lab):
    """Item 155"""
    lab.play([ask("clerk", task="x")], "done")
    clerk(lab, [ask("note", text="a")], "noted")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run()
    clerk(lab, [ask("note", text="a")], "noted")
    with pytest.raises(RunLimitExceeded, match="max_model_calls"):
        await lab.recover(ctx=RunContext(limits=RunLimits(max_model_calls=3)))
    assert lab.models[1].requests == []
    result = await lab.recover(ctx=RunContext(limits=RunLimits(max_model_calls=4)))
    assert result.status == "done"


async def test_events_of_an_agents_calls_reach_the_runs_listener(lab):
    events = []
    lab.play([ask("clerk", task="x")], "done")
    clerk(lab, [ask("charge", cents=1)], "paid")
    await lab.run(on_event=events.append)
    told = [(type(event).__name__, event.tool) for event in events]
    assert told == [
        ("ToolStarted", "clerk"),
        ("ToolStarted", "charge"),
        ("ToolEnded", "charge"),
        ("ToolEnded", "clerk"),
    ]


async def test_an_executor_of_an_agents_own_asks_in_its_own_way(lab):
    """Its request stands in its own store, and the run waits for it."""
    asks = Lab(lab.store)
    agent = LoopAgent(model=ScriptedModel([[ask("mail", to="ann")], "sent"]), tools=lab.tools)
    inner = agent_tool(agent, name="clerk", description="x", executor=asks.executor)
    lab.tools = Registry([*lab.tools.subset(["charge"]), inner])
    lab.play([ask("clerk", task="x")], "done")
    lab.executor = Executor()
    paused = await lab.run()
    assert [request.tool for request in paused.pending] == ["mail"]
    assert await asks.approvals.list_pending() == [*paused.pending]
    assert (await lab.recover()).pending == paused.pending
    await asks.decide()
    agent.model = ScriptedModel(["sent"])
    assert said(await lab.recover())[2] == ("tool", "sent")
    assert lab.ran == [("mail", "ann")]
