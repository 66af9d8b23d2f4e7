"""Agents in a durable run: whatever moment a worker dies at, no inner call and no reply of the agent's model is lost."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from tests.exec.agents_kit import Bench, Killed, agent, ask, play, said, shown

from agent_adapter import ApprovalDecision, Tool, tool
from agent_adapter.exec import AgentDepthExceeded
from agent_adapter.exec.checkpoints import DurableStore

OUTER = (ask("helper", task="t"),)


@dataclass
class Point:
    n: int


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


async def test_inner_calls_that_finished_replay_and_no_planned_turn_is_planned_again(bench: Bench):
    """Items 88, 90: killed in the second inner turn; the first turn's call and both replies are taken from the record."""
    helper_model = play([ask("charge", cents=1)], [ask("note", text="x")], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge, bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    assert len(helper_model.requests) == 2
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert said(result)[2:] == [("tool", "helped"), ("assistant", "done")]
    assert bench.ran == [("charge", 1), ("note", "x"), ("note", "x")]
    assert bench.keys[1] == bench.keys[2]
    assert (len(helper_model.requests), len(model.requests)) == (3, 2)
    assert shown(helper_model) == ["t", "", "charged 1", "", "noted x"]


async def test_an_agents_model_call_that_was_cut_off_is_made_again_and_nothing_else(bench: Bench):
    """Item 89."""
    dead = [True]

    def second(_: Any) -> str:
        if dead[0]:
            bench.die()
        return "helped"

    helper_model = play([ask("charge", cents=1)], second)
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge)]
    with pytest.raises(Killed):
        await bench.run(model, tools)
    dead[0] = False
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("charge", 1)])
    assert (len(helper_model.requests), len(model.requests)) == (3, 2)


async def test_an_agent_that_finished_replays_whole(bench: Bench):
    """Item 88: the sibling died after the agent's end."""
    helper_model = play([ask("charge", cents=1)], "helped")
    tools = [agent(helper_model, bench.charge), bench.note]
    model = play([*OUTER, ask("note", text="x")], "done")
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert said(result)[2:] == [
        ("tool", "helped"),
        ("tool", "noted x"),
        ("assistant", "done"),
    ]
    assert [call.call_id for call in result.tool_results] == ["note-x"]
    assert (bench.ran.count(("charge", 1)), len(helper_model.requests)) == (1, 2)


async def test_inner_calls_have_idempotency_keys_of_their_own(bench: Bench):
    """Item 112: also equal calls of two agents that work on the same task."""
    helper_model = play([ask("charge", "a", cents=5), ask("charge", "b", cents=5)], "helped")
    model = play([ask("helper", "1", task="t"), ask("helper", "2", task="t")], "done")
    await bench.run(model, [agent(helper_model, bench.charge)])
    assert len(bench.keys) == len(set(bench.keys)) == 4
    assert None not in bench.keys


async def test_two_agents_with_one_task_are_two(bench: Bench):
    """Item 91: the crash in the second one does not touch the first."""
    model = play([ask("helper", "1", task="t"), ask("helper", "2", task="t")], "done")

    @tool(idempotent=True)
    async def note(text: str) -> str:
        bench.ran.append(("note", text))
        if bench.ran.count(("note", text)) == 2:
            bench.die()
        return ""

    tools = [
        agent(play([ask("charge", cents=5)], [ask("note", text="x")], "helped"), bench.charge, note)
    ]
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1)
    result = await bench.recover(model, tools)
    assert said(result)[2:4] == [("tool", "helped")] * 2
    assert (bench.ran.count(("charge", 5)), bench.ran.count(("note", "x"))) == (2, 3)


async def test_control_flow_of_an_inner_tool_ends_the_run_as_it_is_and_it_can_be_taken_up(
    bench: Bench,
):
    """Item 10: a framework's own pause; what finished before it replays."""

    class Pause(asyncio.CancelledError):
        pass

    pauses = [True]

    @tool(idempotent=True)
    async def asks() -> str:
        if pauses[0]:
            raise Pause("which one?")
        return "this one"

    helper_model = play([ask("charge", cents=1)], [ask("asks")], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.charge, asks)]
    running = asyncio.create_task(bench.run(model, tools))
    await asyncio.wait([running])
    assert (running.cancelled(), (await bench.step())[1]) == (True, "running")
    pauses[0] = False
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran, len(helper_model.requests)) == ("done", [("charge", 1)], 3)


async def test_an_agent_whose_task_was_edited_works_on_that_task_after_a_crash_too(bench: Bench):
    """Items 27, 115."""
    tasks: list[str] = []

    def first(request: Any) -> Any:
        tasks.append(request.messages[0].text)
        return [ask("note", text="n")]

    def last(request: Any) -> str:
        return f"did {request.messages[0].text}"

    model, tools = play(OUTER, "done"), [agent(play(first, last), bench.note, confirm=True)]
    paused = await bench.run(model, tools)
    edited = ApprovalDecision(approved=True, edits={"task": "other"}, decided_by="ann")
    await bench.decide(paused.pending, edited)
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.recover(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert (tasks, said(result)[2]) == (["other"], ("tool", "did other"))


async def test_a_run_that_went_too_deep_can_be_recovered_with_agents_that_may(bench: Bench):
    """Items 30, 104."""

    def tools(max_depth: int) -> list[Tool]:
        inner = agent(play("inner done"), name="inner", max_depth=max_depth)
        return [agent(play([ask("inner", task="i")], "helped"), inner)]

    model = play(OUTER, "done")
    with pytest.raises(AgentDepthExceeded):
        await bench.run(model, tools(1))
    assert (await bench.step())[1] == "running"
    assert (await bench.recover(model, tools(2))).status == "done"


SCHEMAS = {
    "list": (list[int], "[1]"),
    "dataclass": (Point, '{"n":1}'),
    "optional": (Point | None, "null"),
    "nested": (dict[str, Point], '{"a":{"n":1}}'),
    "plain": ({"type": "object"}, '{"n":1}'),
}


@pytest.mark.parametrize(("schema", "text"), SCHEMAS.values(), ids=SCHEMAS.keys())
async def test_an_answer_of_any_schema_is_recorded(bench: Bench, schema: Any, text: str):
    """Item 124: the sibling dies after it, and it replays as it was."""
    helper_model = play(text)
    tools = [agent(helper_model, output_schema=schema), bench.note]
    model = play([*OUTER, ask("note", text="x")], "done")
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools, concurrency=1)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert (said(result)[2], len(helper_model.requests)) == (("tool", text), 1)
