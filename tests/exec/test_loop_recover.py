"""Taking a run up: what is refused, what counts for the whole run, and what counts for this call alone."""

from typing import Any

import pytest
from tests.exec.loop_kit import RUN, Lab, Outage, ask, said

from agent_adapter import (
    CheckpointConflict,
    CheckpointNotFound,
    ConfigError,
    Executor,
    ModelError,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolUsageError,
    tool,
)
from agent_adapter.exec.integration import CallId, Ledger
from agent_adapter.models import ModelReply, Usage

NOTES = [[ask("note", text=str(n))] for n in range(3)]


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def broken_model(lab, *turns, last="done", **given):
    """A run whose model fails after these turns; in its next life it says the last word."""
    lab.play(*turns, OSError("away"))
    with pytest.raises(ModelError):
        await lab.run(**given)
    lab.play(*turns, last)
    lab.tape.writes.clear()


async def test_a_recovered_run_goes_on_with_its_whole_history(lab):
    await broken_model(lab, *NOTES)
    result = await lab.recover()
    assert [text for _, text in said(result)] == [
        *("go", "", "noted 0", "", "noted 1", "", "noted 2", "done")
    ]
    assert lab.models[1].requests[0].messages == result.messages[:-1]
    assert (result.steps, result.run_id, result.status) == (4, RUN, "done")


async def test_max_steps_counts_the_model_calls_before_the_crash_too(lab):
    """Item 92: after three of four there is one left, and with three none."""
    await broken_model(lab, *NOTES, max_steps=4)
    with pytest.raises(RunLimitExceeded, match="max_steps"):
        await lab.recover(max_steps=3)
    assert lab.models[1].requests == []
    assert await lab.status() == "running"
    assert (await lab.recover(max_steps=4)).steps == 4
    assert len(lab.models[2].requests) == 1


async def test_what_is_replayed_is_in_the_messages_and_not_among_the_results(lab):
    """Item 93"""
    lab.play([ask("note", text="a"), ask("charge", cents=1)], [ask("note", text="b")], "done")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    result = await lab.recover()
    assert [found.value for found in result.tool_results] == ["noted b"]
    assert [text for role, text in said(result) if role == "tool"] == [
        *("noted a", "charged 1", "noted b")
    ]


@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        (RunLimits(max_tokens=30), True),
        (RunLimits(max_tokens=15), False),
        (RunLimits(max_model_calls=2), True),
        (RunLimits(max_model_calls=1), False),
        (RunLimits(max_cost=1.5), True),
        (RunLimits(max_cost=1.0), False),
        (RunLimits(max_tool_calls=2), True),
        (RunLimits(max_tool_calls=1), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("whose", ["context", "executor"])
async def test_limits_count_the_whole_run(lab, limits, fits, whose):
    """Items 93 and 155"""
    calls = (ask("charge", cents=1), ask("charge", cents=2))
    first = ModelReply(calls=calls, usage=Usage(10, 5, 1.0))
    await broken_model(lab, first)
    given: dict[str, Any] = {"ctx": RunContext(limits=limits)}
    if whose == "executor":
        given = {"executor": Executor(approvals=lab.executor.approvals, limits=limits)}
    if fits:
        assert (await lab.recover(**given)).status == "done"
    else:
        with pytest.raises(RunLimitExceeded):
            await lab.recover(**given)
        assert lab.models[1].requests == []
        assert (await lab.recover()).status == "done"
    assert len(lab.ran) == 2


async def test_a_context_that_the_caller_uses_again_does_not_count_twice(lab):
    ctx = RunContext(limits=RunLimits(max_tool_calls=3, max_model_calls=4))
    lab.play(*NOTES[:2], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run(ctx=ctx)
    lab.play(*NOTES, "done")
    with pytest.raises(RunLimitExceeded, match="max_model_calls"):
        await lab.recover(ctx=RunContext(limits=RunLimits(max_model_calls=2)))
    assert (await lab.recover(ctx=ctx)).status == "done"


@pytest.mark.parametrize(("most", "fits"), [(2, True), (1, False)])
async def test_a_call_that_waited_counts_once(lab, most, fits):
    """Item 155: neither its pause nor the replay of its siblings uses the run up."""
    lab.play([ask("charge", cents=1), ask("mail", to="ann")], "done")
    await lab.run(ctx=RunContext(limits=RunLimits(max_tool_calls=2)))
    await lab.recover()
    await lab.decide()
    ctx = RunContext(limits=RunLimits(max_tool_calls=most))
    if fits:
        assert (await lab.recover(ctx=ctx)).status == "done"
        assert ctx.meter.used()["tool_calls"] == 2
    else:
        with pytest.raises(RunLimitExceeded, match="max_tool_calls"):
            await lab.recover(ctx=ctx)
        assert lab.ran == [("charge", 1)]


async def test_an_unknown_run_is_not_found(lab):
    """Item 94"""
    with pytest.raises(CheckpointNotFound):
        await lab.recover()


@pytest.mark.parametrize("status", ["done", "denied", "failed"])
async def test_a_run_that_ended_is_not_taken_up(lab, status):
    """Item 95"""
    lab.play(*NOTES, "done")
    await lab.run()
    if status != "done":
        await lab.store.delete(RUN)
        await end_as(lab, status)
    before = await lab.snapshot()
    lab.tape.writes.clear()
    with pytest.raises(CheckpointConflict, match="ended"):
        await lab.recover()
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])


async def end_as(lab, status):
    """A run that ended in a way in which no loop of this version ends."""
    from agent_adapter.exec._keys import key_ring
    from agent_adapter.exec._loop_state import LoopState
    from agent_adapter.exec._loop_store import LoopStore

    class Ended(LoopState):
        status = property(lambda self: status)

    kept = LoopStore(lab.store, key_ring(lab.store), RUN, name="tool_loop", schema=None)
    await kept.save(Ended("ended", ()), {}, None)


@pytest.mark.parametrize(
    "other",
    [{"stage": "other"}, {"output_schema": {"type": "object"}}],
    ids=["stage", "output schema"],
)
async def test_a_run_of_another_loop_is_not_taken_up(lab, other):
    """Item 96"""
    await broken_model(lab, [ask("charge", cents=1)])
    before = await lab.snapshot()
    with pytest.raises(CheckpointConflict):
        await lab.recover(**other)
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])
    assert lab.models[1].requests == []


async def test_a_flow_is_no_loop(lab):
    """Item 96"""
    call = CallId(RUN, "tool_loop", "k", "a", "charge", "d", "visit")
    await Ledger(lab.store).keep(call, "outcome")
    before = await lab.snapshot()
    with pytest.raises(CheckpointConflict, match="flow"):
        await lab.recover()
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])


async def test_the_missing_tool_of_an_unfinished_call_is_named_and_nothing_is_written(lab):
    """Item 103"""
    lab.play([ask("charge", cents=1), ask("note", text="a")], "done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    whole, before = lab.tools, await lab.snapshot()
    lab.without("charge")
    lab.tape.writes.clear()
    with pytest.raises(ToolUsageError, match="charge"):
        await lab.recover(rerun_in_doubt=True)
    assert (await lab.snapshot(), lab.tape.writes) == (before, [])
    lab.tools = whole
    assert (await lab.recover(rerun_in_doubt=True)).status == "done"


@pytest.mark.parametrize("now", ["gone", "takes more"])
async def test_a_finished_call_that_cannot_be_made_again_as_it_was_is_refused_by_name(lab, now):
    """Items 88 and 103: its record answers no call any more, and nothing may run in its place."""
    await broken_model(lab, [ask("charge", cents=1)])
    whole, before = lab.tools, await lab.snapshot()

    @tool
    async def charge(cents: int, currency: str = "EUR") -> str:
        lab.ran.append((currency, cents))
        return "charged"

    lab.without("charge")
    if now == "takes more":
        lab.tools.add(charge)
    with pytest.raises(ToolUsageError, match="charge"):
        await lab.recover()
    assert (await lab.snapshot(), lab.tape.writes, lab.ran) == (before, [], [("charge", 1)])
    lab.tools = whole
    assert said(await lab.recover())[2] == ("tool", "charged 1")


async def test_a_recovery_without_anybody_to_ask_is_refused_before_anything_is_written(lab):
    await broken_model(lab, [ask("charge", cents=1)])
    with pytest.raises(ConfigError, match="mail"):
        await lab.recover(executor=Executor())
    assert lab.tape.writes == []


@pytest.mark.parametrize(
    "wrong", [{"max_steps": 0}, {"stage": ""}, {"concurrency": -1}, {"tool_choice": "fly"}], ids=str
)
async def test_a_wrong_argument_is_refused_before_anything_is_written(lab, wrong):
    await broken_model(lab, [ask("charge", cents=1)])
    with pytest.raises(ToolUsageError):
        await lab.recover(**wrong)
    assert lab.tape.writes == []


async def test_a_forced_tool_choice_is_not_forced_again_after_a_crash(lab):
    await broken_model(lab, [ask("note", text="a")], tool_choice="required")
    await lab.recover(tool_choice="required")
    assert lab.models[1].requests[0].tool_choice == "auto"


async def test_a_forced_tool_choice_is_still_to_come_when_the_first_model_call_failed(lab):
    await broken_model(lab, tool_choice="note")
    await lab.recover(tool_choice="note")
    assert lab.models[1].requests[0].tool_choice == "note"
