"""Agents in a plain journal visit (what a bridge's node is): entered again with its data, nothing runs or is planned twice."""

from typing import Any

import pytest
from pydantic import BaseModel
from tests.exec.agents_kit import NO, YES, agent, ask, play, shown

from agent_adapter import (
    ApprovalPending,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    StoreApprovals,
    Tool,
    ToolFailed,
    tool,
)
from agent_adapter.exec.integration import JournalData, make_answer, make_journal, visit_scope
from agent_adapter.models import ModelReply, Usage


class Answer(BaseModel):
    n: int


class Node:
    """A visit that calls the agent, entered again and again with what its journal kept."""

    def __init__(self, *tools: Tool) -> None:
        self.store = MemoryApprovalStore()
        self.executor = Executor(Registry(tools), approvals=StoreApprovals(self.store))
        self.data: JournalData = {}

    async def enter(self, ctx: RunContext | None = None, answer: Any = None) -> Any:
        journal = make_journal(self.data)
        try:
            with visit_scope(answer, journal):
                return await self.executor.run("helper", {"task": "t"}, ctx)
        finally:
            journal.close()
            self.data = journal.data()


def noting(ran: list[str]) -> tuple[Tool, Tool, Tool]:
    """A plain tool, one that a person has to approve, and one that fails the first time."""

    @tool
    async def plain() -> str:
        ran.append("plain")
        return "plain done"

    @tool(confirm=True)
    async def asked() -> str:
        ran.append("asked")
        return "asked done"

    @tool
    async def flaky() -> str:
        ran.append("flaky")
        if ran.count("flaky") == 1:
            raise ConnectionError
        return "flaky done"

    return plain, asked, flaky


async def test_an_agent_that_ended_replays(ran: list[str]):
    """Item 124: neither its model nor its calls."""
    model = play([ask("plain")], "helped")
    node = Node(agent(model, *noting(ran)))
    assert [await node.enter(), await node.enter()] == ["helped", "helped"]
    assert (ran, len(model.requests)) == (["plain"], 2)


async def test_an_agents_answer_with_a_schema_replays_as_the_same_value():
    """Item 124: of equal type."""
    model = play('{"n": 3}')
    node = Node(agent(model, output_schema=Answer))
    assert [await node.enter(), await node.enter()] == [Answer(n=3), Answer(n=3)]
    assert len(model.requests) == 1


async def test_an_agents_answer_with_a_json_schema_replays():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    node = Node(agent(play('{"n": 3}'), output_schema=schema))
    assert [await node.enter(), await node.enter()] == [{"n": 3}, {"n": 3}]


async def test_an_agent_that_parked_goes_on_where_it_was(ran: list[str]):
    """Items 124, 130: the reply that planned the turn is recorded, and so is the call that finished in it."""
    model = play([ask("plain")], [ask("plain"), ask("asked")], "helped")
    node = Node(agent(model, *noting(ran)))
    with pytest.raises(ApprovalPending) as parked:
        await node.enter()
    (request,) = parked.value.requests
    assert (request.tool, request.run_id, ran) == ("asked", None, ["plain", "plain"])
    await node.store.decide(request.id, YES)
    assert await node.enter() == "helped"
    assert (ran, len(model.requests)) == (["plain", "plain", "asked"], 3)
    assert shown(model)[-2:] == ["plain done", "asked done"]


async def test_an_undecided_agent_parks_with_the_same_request_again(ran: list[str]):
    """Item 114: and asks no model."""
    model = play([ask("asked")], "helped")
    node = Node(agent(model, *noting(ran)))
    requests = []
    for _ in range(2):
        with pytest.raises(ApprovalPending) as parked:
            await node.enter()
        requests.append(parked.value.requests)
    assert requests[0] == requests[1]
    assert await node.store.list_pending() == list(requests[0])
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("decision", "told", "runs"),
    [(YES, "asked done", ["asked"]), (NO, "ToolDenied: denied by bob: too dear", [])],
    ids=["approved", "denied"],
)
async def test_an_answer_that_comes_with_the_resume_counts_inside_the_agent(
    ran: list[str], decision: Any, told: str, runs: list[str]
):
    """Item 141: the answer names the request of the inner call."""
    model = play([ask("asked")], "helped")
    node = Node(agent(model, *noting(ran)))
    with pytest.raises(ApprovalPending) as parked:
        await node.enter()
    (request,) = parked.value.requests
    answer = make_answer([(request, decision, True)])
    assert await node.enter(answer=answer) == "helped"
    assert (ran, shown(model)[-1]) == (runs, told)


async def test_an_agent_that_needs_approval_parks_first(ran: list[str]):
    """Item 37."""
    model = play("helped")
    node = Node(agent(model, *noting(ran), confirm=True))
    with pytest.raises(ApprovalPending) as parked:
        await node.enter()
    assert (parked.value.requests[0].tool, model.requests) == ("helper", [])
    await node.store.decide(parked.value.requests[0].id, YES)
    assert await node.enter() == "helped"


async def test_a_failed_inner_call_that_the_model_was_told_of_replays_as_failed(ran: list[str]):
    """Item 137: the agent made something of it; entering again must not change the past."""
    model = play([ask("flaky")], [ask("asked")], "helped")
    node = Node(agent(model, *noting(ran)))
    with pytest.raises(ApprovalPending) as parked:
        await node.enter()
    await node.store.decide(parked.value.requests[0].id, YES)
    assert await node.enter() == "helped"
    assert ran == ["flaky", "asked"]
    assert "ConnectionError" in shown(model)[2]


async def test_a_failed_agent_replays_as_failed(ran: list[str]):
    """Item 137."""
    model = play([ask("plain")], RuntimeError("overloaded"))
    node = Node(agent(model, *noting(ran)))
    for _ in range(2):
        with pytest.raises(ToolFailed, match="overloaded"):
            await node.enter()
    assert (ran, len(model.requests)) == (["plain"], 2)


async def test_outside_a_visit_a_pause_is_told_and_the_next_call_begins_anew(ran: list[str]):
    """Item 28: there is no record that could be gone on with."""
    model = play([ask("plain"), ask("asked")], "helped")
    node = Node(agent(model, *noting(ran)))
    for _ in range(2):
        with pytest.raises(ApprovalPending) as parked:
            await node.executor.run("helper", {"task": "t"})
        assert [request.tool for request in parked.value.requests] == ["asked"]
    assert (ran, len(model.requests)) == (["plain", "plain"], 2)


def counted(ctx: RunContext) -> tuple[float, float, float]:
    used = ctx.meter.used()
    return used["tool_calls"], used["model_calls"], used["tokens"]


async def test_a_visit_that_is_gone_on_with_counts_what_replays(ran: list[str]):
    """Item 155: under a new context, as in a new process."""
    planned = ModelReply(calls=(ask("plain"), ask("asked")), usage=Usage(5, 5))
    node = Node(agent(play(planned, ModelReply("helped", usage=Usage(1, 1))), *noting(ran)))
    first, second = RunContext(), RunContext()
    with pytest.raises(ApprovalPending) as parked:
        await node.enter(first)
    await node.store.decide(parked.value.requests[0].id, YES)
    assert await node.enter(second) == "helped"
    assert (counted(first), counted(second)) == ((3, 1, 10), (3, 2, 12))


async def test_an_agent_that_ended_counts_whole_when_it_replays(ran: list[str]):
    """Item 155."""
    model = play(ModelReply(calls=(ask("plain"),), usage=Usage(5, 5)), "helped")
    node = Node(agent(model, *noting(ran)))
    first, second = RunContext(), RunContext()
    await node.enter(first)
    await node.enter(second)
    assert counted(second) == counted(first) == (2, 2, 10)


@pytest.fixture
def ran() -> list[str]:
    return []
