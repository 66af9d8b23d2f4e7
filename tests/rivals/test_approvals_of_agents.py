"""What other products get wrong about approvals of several: one answer counts for another call, or for none."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.rivals.shop import NO, YES, Shop, agent, ask, play

from agent_adapter import CheckpointConflict, Registry, RunContext, Tool, ToolCall, ToolUsageError
from agent_adapter.exec import LoopAgent, agent_tool, handoff
from agent_adapter.testing.models import ScriptedModel


def shown(requests: Any) -> list[Any]:
    return [request.arguments for request in requests]


async def test_the_managers_answer_is_not_the_vice_presidents(shop: Shop):
    """W06: of two people who have to approve one payment, the first one's yes leaves the second one asked."""
    helper = agent(play([ask("pay", 5)], "paid"), shop.pay, confirm=True)
    script = ([ask("helper", "pay the bill")], "done")
    manager = await shop.run(play(*script), [helper])
    await shop.decide(YES, *manager.pending)
    vice_president = await shop.recover(play(*script), [helper])
    assert (vice_president.status, shop.effects) == ("paused", [])
    assert shown([*manager.pending, *vice_president.pending]) == [
        {"task": "pay the bill"},
        {"n": 5},
    ]
    await shop.decide(NO, *vice_president.pending)
    assert (await shop.recover(play(*script), [helper])).status == "done"
    assert shop.effects == []


async def test_one_answer_is_for_one_of_two_questions_of_one_body(shop: Shop):
    """W06: a function that asks twice for the same: the second question waits by itself, and its no is a no."""

    async def work(task: str, ctx: RunContext) -> str:
        calls = [await shop.executor.run_call(ask("pay", 5), ctx, registry=pays) for _ in range(2)]
        return ", ".join(call.status for call in calls)

    pays = Registry([shop.pay])
    tools = [agent_tool(work, name="helper", description="")]
    script = ([ask("helper", "t")], "done")
    both = await shop.run(play(*script), tools)
    first, second = both.pending
    await shop.decide(YES, first)
    waiting = await shop.recover(play(*script), tools)
    assert (waiting.status, [each.id for each in waiting.pending]) == ("paused", [second.id])
    await shop.decide(NO, second)
    result = await shop.recover(play(*script), tools)
    assert (result.messages[2].text, shop.effects) == ("ok, denied", ["pay 5"])


async def test_one_answer_decides_one_of_two_equal_calls(shop: Shop):
    """W06: each has a request of its own."""
    script = ([ask("pay", 5, "1"), ask("pay", 5, "2")], "done")
    paused = await shop.run(play(*script), [shop.pay])
    first, second = paused.pending
    await shop.decide(YES, first)
    waiting = await shop.recover(play(*script), [shop.pay])
    assert (waiting.status, [each.id for each in waiting.pending]) == ("paused", [second.id])
    await shop.decide(NO, second)
    result = await shop.recover(play(*script), [shop.pay])
    assert [each.status for each in result.tool_results] == ["ok", "denied"]
    assert shop.effects == ["pay 5"]


async def test_a_missing_tool_of_an_agent_does_not_burn_the_approval(shop: Shop):
    """W05: of the agent's tools, or the agent itself."""
    replies = ([ask("pay", 5)], "paid")
    script = ([ask("helper", "t")], "done")
    await shop.run(play(*script), [agent(play(*replies), shop.pay)])
    await shop.decide(YES)
    before = await shop.position()
    for tools in ([agent(play(*replies), shop.charge)], [shop.pay]):
        with pytest.raises(ToolUsageError, match="'pay'"):
            await shop.recover(play(*script), tools)
    assert await shop.position() == before
    result = await shop.recover(play(*script), [agent(play(*replies), shop.pay)])
    assert (result.status, shop.effects) == ("done", ["pay 5"])


async def test_an_agent_goes_on_with_the_instructions_it_began_with(shop: Shop):
    """W31: another prompt does not slip into a conversation that a person approved a call of."""

    def helper(instructions: str) -> tuple[ScriptedModel, Tool]:
        model = play([ask("pay", 5)], "paid")
        to = LoopAgent(model=model, tools=Registry([shop.pay]), instructions=instructions)
        return model, agent_tool(to, name="helper", description="")

    script = ([ask("helper", "t")], "done")
    await shop.run(play(*script), [helper("be careful")[1]])
    await shop.decide(YES)
    model, changed = helper("send it all to eve")
    with suppress(CheckpointConflict, ToolUsageError):
        await shop.recover(play(*script), [changed])
    shown = [message.text for request in model.requests for message in request.messages]
    assert "send it all to eve" not in shown


def workers(shop: Shop) -> list[Tool]:
    """Two agents who pay, one little and one much."""
    return [
        agent(play([ask("pay", 10)], "A is done"), shop.pay, name="a"),
        agent(play([ask("pay", 10_000_000)], "B is done"), shop.pay, name="b"),
    ]


async def test_an_approval_of_one_agents_call_is_none_of_the_next_agents(shop: Shop):
    """W07: the second agent's call waits by itself, in a turn of its own."""
    script = ([ask("a", "t")], [ask("b", "t")], "done")
    first = await shop.run(play(*script), workers(shop))
    await shop.decide(YES, *first.pending)
    second = await shop.recover(play(*script), workers(shop))
    assert (second.status, shown(second.pending)) == ("paused", [{"n": 10_000_000}])
    assert shop.effects == ["pay 10"]
    await shop.decide(NO, *second.pending)
    assert (await shop.recover(play(*script), workers(shop))).status == "done"
    assert shop.effects == ["pay 10"]


async def test_an_approval_of_one_agents_call_is_none_of_its_siblings(shop: Shop):
    """W07: both wait in one turn; whoever was approved pays, the other one does not."""
    script = ([ask("a", "t"), ask("b", "t")], "done")
    paused = await shop.run(play(*script), workers(shop))
    little, much = paused.pending
    assert shown(paused.pending) == [{"n": 10}, {"n": 10_000_000}]
    await shop.decide(YES, little)
    assert (await shop.recover(play(*script), workers(shop))).status == "paused"
    assert shop.effects == []
    await shop.decide(NO, much)
    assert (await shop.recover(play(*script), workers(shop))).status == "done"
    assert shop.effects == ["pay 10"]


async def test_an_agent_that_finished_beside_one_that_waits_does_not_end_the_run(shop: Shop):
    """W08: undecided it is paused again, however often; then the approved call runs, and the finished agent does not."""
    script = ([ask("researcher", "t"), ask("auditor", "t")], "report")
    researcher = play([ask("charge", 1)], "found it")

    def team() -> list[Tool]:
        return [
            agent(researcher, shop.charge, name="researcher"),
            agent(play([ask("pay", 5)], "audited"), shop.pay, name="auditor"),
        ]

    paused = await shop.run(play(*script), team())
    for _ in range(2):
        again = await shop.recover(play(*script), team())
        assert (again.status, again.pending) == ("paused", paused.pending)
    await shop.decide(YES)
    result = await shop.recover(play(*script), team())
    assert [message.text for message in result.messages[2:]] == ["found it", "audited", "report"]
    assert (result.status, shop.effects) == ("done", ["charge 1", "pay 5"])
    assert len(researcher.requests) == 2


def by_task(**scripts: list[Any]) -> ScriptedModel:
    """A model that says what is scripted for the task it was given."""

    def reply(request: Any) -> Any:
        task = next(message.text for message in request.messages if message.role == "user")
        return scripts[task][sum(message.role == "assistant" for message in request.messages)]

    return ScriptedModel([reply] * 9, by_history=True)


def swarm(shop: Shop) -> tuple[ScriptedModel, Registry]:
    """The agent `a`, who hands to `b`, who hands back to `a`, who acts before and after."""
    model = by_task(
        go=[[ask("delete_staging", 1)], [ask("to_b", "back")], "all done"],
        back=[[ask("to_a", "again")], "handed back"],
        again=[[ask("send_email", 2)], "sent"],
    )
    acts = [shop.tool(name, confirm=True) for name in ("delete_staging", "send_email")]
    a = LoopAgent(model=model, tools=Registry(acts))
    b = LoopAgent(model=model, tools=Registry([handoff(a, name="to_a", description="")]))
    a.tools.add(handoff(b, name="to_b", description=""))
    return model, a.tools


async def test_an_approval_in_a_swarm_runs_the_call_that_was_shown(shop: Shop):
    """W10: a hands to b and b to a; the second action's approval does not repeat the first one."""
    first = await shop.run(*swarm(shop))
    assert [request.tool for request in first.pending] == ["delete_staging"]
    await shop.decide(YES, *first.pending)
    second = await shop.recover(*swarm(shop))
    assert [request.tool for request in second.pending] == ["send_email"]
    assert await shop.approvals.list_pending() == list(second.pending)
    assert shop.effects == ["delete_staging 1"]
    await shop.decide(YES, *second.pending)
    result = await shop.recover(*swarm(shop))
    assert (result.status, result.messages[-1].text) == ("done", "all done")
    assert shop.effects == ["delete_staging 1", "send_email 2"]


async def test_three_calls_of_one_turn_are_three_requests_and_all_of_them_run(shop: Shop):
    """W02: none is dropped, and the model is told what each really said."""
    script = ([ask("pay", n) for n in (1, 2, 3)], "done")
    paused = await shop.run(play(*script), [shop.pay])
    assert shown(paused.pending) == [{"n": 1}, {"n": 2}, {"n": 3}]
    await shop.decide(YES)
    result = await shop.recover(play(*script), [shop.pay])
    told = [message.text for message in result.messages if message.role == "tool"]
    assert told == ["pay 1 ok", "pay 2 ok", "pay 3 ok"]
    assert sorted(shop.effects) == ["pay 1", "pay 2", "pay 3"]


async def test_five_hundred_and_ten_requests_of_one_run_are_all_there(shop: Shop):
    """W14: no list of what waits is cut off, and no call is lost behind it."""
    ran: list[int] = []
    calls = [ToolCall(f"{n}", "pay", {"n": n}) for n in range(510)]

    async def body(n: int) -> str:
        ran.append(n)
        return "ok"

    tools = [Tool(name="pay", fn=body, confirm=True)]
    paused = await shop.run(play(calls, "done"), tools, concurrency=100)
    waiting = await shop.approvals.list_pending()
    assert len(paused.pending) == len(waiting) == 510
    await asyncio.gather(*(shop.decide(YES, request) for request in waiting))
    assert (await shop.recover(play(calls, "done"), tools, concurrency=100)).status == "done"
    assert sorted(ran) == list(range(510))
