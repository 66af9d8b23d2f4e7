"""Agents whose calls wait for a person: the whole run parks with every request, and goes on when all are decided."""

from typing import Any

import pytest
from pydantic import BaseModel
from tests.exec.agents_kit import NO, YES, Bench, Killed, agent, ask, play, said, shown

from agent_adapter import ApprovalDecision, Executor, StoreApprovals, ToolUsageError
from agent_adapter.approvals import MemoryApprovalStore
from agent_adapter.exec.checkpoints import DurableStore

OUTER = (ask("helper", task="t"),)


class Answer(BaseModel):
    n: int


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


async def test_a_call_inside_an_agent_parks_the_whole_run_and_names_it(bench: Bench):
    """Item 113: nothing but the request waits; the record says so."""
    helper_model = play([ask("mail", to="x")], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.mail)]
    paused = await bench.run(model, tools)
    (request,) = paused.pending
    assert (paused.status, paused.tool_results) == ("paused", ())
    assert (request.tool, request.arguments, request.run_id) == ("mail", {"to": "x"}, "run-1")
    assert request.path.startswith("helper:")
    assert (await bench.step())[1] == "paused"
    assert ("mail", "pending") in await bench.records()
    assert await bench.store.list_unfinished() == []
    await bench.decide(paused.pending)
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("mail", "x")])
    assert (len(helper_model.requests), len(model.requests)) == (2, 2)


async def test_requests_of_an_agent_and_of_its_sibling_wait_together(bench: Bench):
    """Item 39: approve one, deny the other: exactly one runs, and both models are told."""
    helper_model = play([ask("mail", to="in")], "helped")
    tools = [agent(helper_model, bench.mail), bench.mail]
    model = play([*OUTER, ask("mail", to="out")], "done")
    paused = await bench.run(model, tools)
    inner, outer = paused.pending
    assert [request.arguments["to"] for request in paused.pending] == ["in", "out"]
    await bench.decide([inner], NO)
    await bench.decide([outer], YES)
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("mail", "out")])
    assert shown(helper_model)[-1] == "ToolDenied: denied by bob: too dear"
    assert said(result)[2:4] == [("tool", "helped"), ("tool", "mailed out")]


async def test_the_run_waits_until_every_request_is_decided(bench: Bench):
    """Items 39, 114: with one of two undecided it is paused again, writes nothing and asks no model."""
    helper_model = play([ask("mail", to="in")], "helped")
    tools = [agent(helper_model, bench.mail), bench.mail]
    model = play([*OUTER, ask("mail", to="out")], "done")
    paused = await bench.run(model, tools)
    before = await bench.step()
    await bench.decide(paused.pending[:1])
    again = await bench.recover(model, tools)
    assert (again.status, again.pending) == ("paused", paused.pending[1:])
    assert (bench.worker.writes, await bench.step(), bench.ran) == (0, before, [])
    assert (len(helper_model.requests), len(model.requests)) == (1, 1)
    assert await bench.approvals.list_pending() == list(paused.pending[1:])


async def test_every_request_two_agents_deep_waits_at_once(bench: Bench):
    """Item 39: of each level, equal ones too; two are approved and two denied."""
    deep_model = play([ask("mail", "i", to="a"), ask("mail", "j", to="a")], "deep done")
    deep = agent(deep_model, bench.mail, name="deep")
    helper_model = play([ask("deep", task="d"), ask("mail", to="b")], "helped")
    tools = [agent(helper_model, deep, bench.mail), bench.mail]
    model = play([*OUTER, ask("mail", to="c")], "done")
    paused = await bench.run(model, tools)
    by_call = {request.call_id + request.arguments["to"]: request for request in paused.pending}
    assert sorted(by_call) == ["ia", "ja", "mail-bb", "mail-cc"]
    assert len({request.id for request in paused.pending}) == 4
    await bench.decide([by_call["ia"], by_call["mail-bb"]], NO)
    await bench.decide([by_call["ja"], by_call["mail-cc"]], YES)
    result = await bench.recover(model, tools)
    assert (result.status, sorted(bench.ran)) == ("done", [("mail", "a"), ("mail", "c")])
    assert shown(deep_model)[2:] == ["ToolDenied: denied by bob: too dear", "mailed a"]
    assert [len(each.requests) for each in (deep_model, helper_model, model)] == [2, 2, 2]


async def test_pending_requests_are_in_call_order_of_the_turn_and_stay_so(bench: Bench):
    """Item 114: when the run is looked at again, too."""
    helper_model = play([ask("note", text="n")], [ask("mail", to="1")], "helped")
    tools = [agent(helper_model, bench.note, bench.mail), bench.mail]
    model = play([*OUTER, ask("mail", to="2")], "done")
    paused = await bench.run(model, tools)
    again = await bench.recover(model, tools)
    assert [request.arguments["to"] for request in paused.pending] == ["1", "2"]
    assert again.pending == paused.pending


async def test_pending_requests_are_in_call_order_inside_agents_too(bench: Bench):
    """Item 39: the agent's first call is an agent, whose request therefore comes later."""
    deep = agent(play([ask("mail", to="1")], "deep done"), bench.mail, name="deep")
    helper_model = play([ask("deep", task="d"), ask("mail", to="2")], "helped")
    paused = await bench.run(play(OUTER), [agent(helper_model, deep, bench.mail)])
    assert [request.arguments["to"] for request in paused.pending] == ["1", "2"]


async def test_an_agent_that_needs_approval_parks_before_its_model_is_asked(bench: Bench):
    """Item 37: then its own call is approved, and a call inside it needs an approval of its own (item 116)."""
    helper_model = play([ask("mail", to="x")], "helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, bench.mail, confirm=True)]
    first = await bench.run(model, tools)
    assert [(each.tool, each.arguments) for each in first.pending] == [("helper", {"task": "t"})]
    assert (first.status, helper_model.requests) == ("paused", [])
    await bench.decide(first.pending)
    second = await bench.recover(model, tools)
    assert [(each.tool, each.arguments) for each in second.pending] == [("mail", {"to": "x"})]
    assert (second.status, bench.ran) == ("paused", [])
    await bench.decide(second.pending)
    result = await bench.recover(model, tools)
    assert (result.status, bench.ran) == ("done", [("mail", "x")])
    assert len(helper_model.requests) == 2


async def test_a_denied_agent_never_begins(bench: Bench):
    """Items 37, 118."""
    helper_model = play("helped")
    model, tools = play(OUTER, "done"), [agent(helper_model, confirm=True)]
    paused = await bench.run(model, tools)
    await bench.decide(paused.pending, NO)
    result = await bench.recover(model, tools)
    assert said(result)[2] == ("tool", "ToolDenied: denied by bob: too dear")
    assert helper_model.requests == []


async def test_a_second_visit_of_an_agent_makes_a_request_of_its_own(bench: Bench):
    """Item 116: the same task and the same inner call, in one turn and in the next."""
    helper = agent(play([ask("mail", to="x")], "helped"), bench.mail)
    model = play(
        [ask("helper", "1", task="t"), ask("helper", "2", task="t")],
        [ask("helper", "3", task="t")],
        "done",
    )
    first = await bench.run(model, [helper])
    await bench.decide(first.pending)
    second = await bench.recover(model, [helper])
    assert (second.status, len(bench.ran)) == ("paused", 2)
    assert len({request.id for request in (*first.pending, *second.pending)}) == 3
    await bench.decide(second.pending, NO)
    result = await bench.recover(model, [helper])
    assert (result.status, len(bench.ran)) == ("done", 2)


async def test_calls_of_a_paused_agent_that_finished_do_not_run_again(bench: Bench):
    """Item 121: of its turns before, of the same turn, and of the turn around it."""
    helper_model = play(
        [ask("charge", cents=1)], [ask("charge", cents=2), ask("mail", to="x")], "helped"
    )
    tools = [agent(helper_model, bench.charge, bench.mail), bench.charge]
    model = play([ask("charge", cents=3), *OUTER], "done")
    paused = await bench.run(model, tools)
    assert [result.tool for result in paused.tool_results] == ["charge"]
    await bench.decide(paused.pending)
    result = await bench.recover(model, tools)
    assert sorted(bench.ran) == [("charge", 1), ("charge", 2), ("charge", 3), ("mail", "x")]
    assert [result.tool for result in result.tool_results] == ["helper"]


async def test_an_answer_with_a_schema_waits_with_a_parked_sibling(bench: Bench):
    """Items 121, 122: the value of an agent can be recorded, and is the same after the pause."""
    helper = agent(play('{"n": 3}'), output_schema=Answer)
    seen: list[Any] = []
    model = play([*OUTER, ask("mail", to="x")], "done")
    paused = await bench.run(model, [helper, bench.mail])
    assert (paused.status, paused.tool_results[0].value) == ("paused", Answer(n=3))
    await bench.decide(paused.pending)
    result = await bench.recover(model, [helper, bench.mail], on_event=seen.append)
    assert said(result)[2:4] == [("tool", '{"n":3}'), ("tool", "mailed x")]


async def test_a_worker_that_dies_in_an_approved_inner_call_leaves_it_in_doubt_once(bench: Bench):
    """Item 115: approved, begun, killed: the approval is not lost and nobody is asked to approve again."""
    model, tools = play(OUTER, "done"), [agent(play([ask("mail", to="x")], "helped"), bench.mail)]
    paused = await bench.run(model, tools)
    await bench.decide(paused.pending)
    bench.dies_in = {"mail"}
    with pytest.raises(Killed):
        await bench.recover(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools, rerun_in_doubt=True)
    assert (result.status, bench.ran) == ("done", [("mail", "x")] * 2)
    assert await bench.approvals.list_pending() == []


async def test_a_request_of_an_agents_own_port_is_waited_for_like_any_other(bench: Bench):
    """Item 114: the agent has an executor of its own."""
    own = MemoryApprovalStore()
    helper = agent(
        play([ask("mail", to="x")], "helped"),
        bench.mail,
        executor=Executor(approvals=StoreApprovals(own)),
    )
    model = play(OUTER, "done")
    paused = await bench.run(model, [helper], executor=Executor())
    before = await bench.step()
    again = await bench.recover(model, [helper], executor=Executor())
    assert (again.status, again.pending) == ("paused", paused.pending)
    assert (await bench.step(), bench.worker.writes) == (before, 0)
    await own.decide(paused.pending[0].id, YES)
    result = await bench.recover(model, [helper], executor=Executor())
    assert (result.status, bench.ran) == ("done", [("mail", "x")])


async def test_an_inner_request_is_not_resumed_on_its_own(bench: Bench):
    """Item 26: the run has to be recovered; nothing is decided."""
    paused = await bench.run(play(OUTER), [agent(play([ask("mail", to="x")]), bench.mail)])
    with pytest.raises(ToolUsageError, match="run-1"):
        await bench.executor.resume(paused.pending[0].id, True)
    stored = await bench.approvals.get(paused.pending[0].id)
    assert (stored.decision, bench.ran) == (None, [])


async def test_edited_arguments_of_an_inner_call_are_the_ones_that_run(bench: Bench):
    """Item 27."""
    model, tools = play(OUTER, "done"), [agent(play([ask("mail", to="x")], "helped"), bench.mail)]
    paused = await bench.run(model, tools)
    edited = ApprovalDecision(approved=True, edits={"to": "y"}, decided_by="ann")
    await bench.decide(paused.pending, edited)
    assert (await bench.recover(model, tools)).status == "done"
    assert bench.ran == [("mail", "y")]


async def test_a_worker_that_paused_is_not_waited_for_although_it_lives(bench: Bench):
    """Item 113: it stopped by itself, at an inner call of an agent that a person had approved."""
    model = play(OUTER, "done")
    tools = [agent(play([ask("mail", to="x")], "helped"), bench.mail, confirm=True)]
    for _ in range(2):
        paused = await (bench.recover if bench.worker.writes else bench.run)(model, tools)
        await bench.decide(paused.pending)
    states = [state for tool, state in await bench.records() if tool == "helper"]
    assert states == ["pending"]
