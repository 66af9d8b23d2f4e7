"""What other products get wrong about effects: they happen twice or not at all, after a crash or without one."""

import threading
from typing import Any

import pytest
from pydantic import BaseModel
from tests.rivals.shop import RUN, YES, Shop, agent, ask, play

from agent_adapter import (
    CheckpointConflict,
    ConfigError,
    Executor,
    ModelError,
    Registry,
    Tool,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import Backoff, Step
from agent_adapter.exec.checkpoints import idempotency_key
from agent_adapter.exec.integration import make_journal, visit_scope

AWAY = OSError("the provider is away")


async def test_the_same_task_twice_reaches_the_agent_twice(shop: Shop):
    """W09: in a normal durable run, equal tasks too; each answer is its own."""
    answers = iter(["first", "second", "third"])
    helper_model = play(lambda _: next(answers))
    script = ([ask("helper", "t", "1")], [ask("helper", "t", "2"), ask("helper", "u", "3")], "done")
    result = await shop.run(play(*script), [agent(helper_model)])
    told = [message.text for message in result.messages if message.role == "tool"]
    asked = [request.messages[-1].text for request in helper_model.requests]
    assert (told, asked) == (["first", "second", "third"], ["t", "t", "u"])


async def visit(executor: Executor, plan: list[Step], data: Any = None) -> Any:
    """The statuses of the plan's steps, and what was journaled."""
    journal = make_journal(data)
    with visit_scope(None, journal):
        results = await executor.run_plan(plan, concurrency=1)
    journal.close()
    return {name: result.status for name, result in results.items()}, journal.data()


async def test_a_plan_that_goes_on_takes_the_branch_that_was_taken(shop: Shop):
    """W25: the other branch never runs, what comes after does, and what had run is not run again."""
    executor = Executor(Registry([shop.tool(name) for name in ("check", "refund", "ship")]))
    branch: Any = {"args": {"n": 1}, "needs": ("check",)}
    plan = [
        Step("check", "check", {"n": 1}),
        Step("refund", "refund", **branch, when=lambda done: done["check"].value != "check 1 ok"),
        Step("ship", "ship", **branch, when=lambda done: done["check"].value == "check 1 ok"),
    ]
    _, data = await visit(executor, plan[:1])
    statuses, data = await visit(executor, plan, data)
    again, _ = await visit(executor, plan, data)
    assert statuses == again
    assert shop.effects == ["check 1", "ship 1"]


def bank(name: str, ran: list[str]) -> Tool:
    """A tool whose function has the same qualified name whatever the tool is called."""

    @tool(name=name)
    async def transfer(n: int) -> str:
        ran.append(name)
        return f"receipt of {name}"

    return transfer


async def test_tools_of_one_function_name_do_not_answer_for_each_other(shop: Shop):
    """W17 a: equal arguments too; after a crash each is answered by its own record."""
    ran: list[str] = []
    tools = [bank("bank.transfer", ran), bank("stripe.transfer", ran)]
    calls = [ask("bank.transfer", 5), ask("stripe.transfer", 5)]
    with pytest.raises(ModelError):
        await shop.run(play(calls, AWAY), tools)
    result = await shop.recover(play(calls, "done"), tools)
    told = [message.text for message in result.messages if message.role == "tool"]
    assert told == ["receipt of bank.transfer", "receipt of stripe.transfer"]
    assert ran == ["bank.transfer", "stripe.transfer"]


def test_two_tools_of_one_name_are_refused():
    """W17 a"""
    with pytest.raises(ToolUsageError, match="transfer"):
        Registry([bank("transfer", []), bank("transfer", [])])


async def test_two_equal_calls_are_two_wishes(shop: Shop):
    """W17 b: both run, each under a key of its own, and neither runs again after a crash."""
    keys: list[str | None] = []

    @tool
    async def charge(n: int) -> str:
        keys.append(idempotency_key())
        return "ok"

    calls = [ask("charge", 5, "1"), ask("charge", 5, "2")]
    with pytest.raises(ModelError):
        await shop.run(play(calls, AWAY), [charge])
    await shop.recover(play(calls, [ask("charge", 5, "3")], "done"), [charge])
    assert (len(keys), len(set(keys)), None in keys) == (3, 3, False)


def test_a_cache_may_not_swallow_an_effect():
    """W17 b: one result for equal calls is only for tools that say that it does no harm."""
    with pytest.raises(ConfigError, match="idempotent"):
        tool(cache=60.0)(lambda n: n)


class Item(BaseModel):
    name: str
    tags: frozenset[str] = frozenset()


class Opaque:
    """Without an exact stored form; its repr is another one in every process."""


async def test_a_call_with_objects_is_found_again(shop: Shop):
    """W17 c: by what they are, not by how they print."""
    ran: list[Item] = []

    @tool
    async def order(item: Item) -> str:
        ran.append(item)
        return f"ordered {item.name}"

    executor, arguments = Executor(), {"item": Item(name="pen", tags=frozenset("xyz"))}
    said, data = [], None
    for _ in range(2):
        journal = make_journal(data)
        with visit_scope(None, journal):
            said.append(await executor.run(order, arguments))
        journal.close()
        data = journal.data()
    assert (said, ran) == (["ordered pen"] * 2, [arguments["item"]])


async def test_a_call_that_could_not_be_found_again_is_refused_and_not_repeated(shop: Shop):
    """W17 c: a value without an exact form has no key that lasts."""
    ran: list[Any] = []

    @tool
    async def order(item: Any) -> str:
        ran.append(item)
        return "ordered"

    data = None
    for times in range(2):
        journal = make_journal(data)
        with visit_scope(None, journal):
            if times == 0:
                await Executor().run(order, {"item": Opaque()})
            else:
                with pytest.raises(ToolUsageError):
                    await Executor().run(order, {"item": Opaque()})
        journal.close()
        data = journal.data()
    assert len(ran) == 1


async def test_a_run_id_that_is_in_use_starts_nothing(shop: Shop):
    """W13: neither while it runs nor after it ended; no model is asked and no tool runs."""
    seconds: list[Any] = []

    async def start_again(_: Any) -> Any:
        second = play([ask("charge", 5)], "done")
        seconds.append(second)
        with pytest.raises(CheckpointConflict):
            await shop.run(second, [shop.charge])
        return [ask("charge", 5)]

    await shop.run(play(start_again, "done"), [shop.charge])
    await start_again(None)
    with pytest.raises(CheckpointConflict):
        await shop.recover(seconds[0], [shop.charge])
    assert [model.requests for model in seconds] == [[], []]
    assert (shop.effects, await shop.status()) == (["charge 5"], "done")


async def test_a_sync_tool_that_timed_out_is_not_tried_again(shop: Shop):
    """W22: it may still be at it; only a tool that says so is repeated."""
    sent: list[int] = []
    release, ended = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def mail(n: int) -> str:
        sent.append(n)
        release.wait(20)
        ended.set()
        return "sent"

    executor = Executor(Registry([mail]), retry=3, backoff=Backoff(initial=0.0))
    result = await executor.run_call(ask("mail", 1))
    release.set()
    assert ended.wait(20)
    assert result.error is not None
    assert (result.error.kind, result.attempts, sent) == ("timeout", 1, [1])


@pytest.mark.parametrize(("idempotent", "times"), [(False, 1), (True, 3)])
async def test_a_failed_tool_is_repeated_only_if_it_says_so(idempotent: bool, times: int):
    """W22: retries are settings of the executor; that they do no harm is the tool's to say."""
    sent: list[int] = []

    @tool(idempotent=idempotent)
    async def mail(n: int) -> str:
        sent.append(n)
        raise ConnectionError("reset after it was sent")

    executor = Executor(Registry([mail]), retry=3, backoff=Backoff(initial=0.0))
    await executor.run_call(ask("mail", 1))
    assert len(sent) == times


@pytest.mark.parametrize("waits", [True, False], ids=["paused", "crashed"])
async def test_clearing_away_old_runs_leaves_those_that_have_not_ended(shop: Shop, waits: bool):
    """W15: the run goes on afterwards, its call runs once, and only then it can be cleared away."""
    name = "pay" if waits else "note"
    script = ([ask("charge", 1), ask(name, 5)], "done" if waits else AWAY)
    tools = [shop.charge, shop.pay, shop.note]
    if waits:
        await shop.run(play(*script), tools, concurrency=1)
        await shop.decide(YES)
    else:
        with pytest.raises(ModelError):
            await shop.run(play(*script), tools, concurrency=1)
    assert await shop.store.prune(0) == 0
    result = await shop.recover(play(script[0], "done"), tools)
    assert (result.status, shop.effects) == ("done", ["charge 1", f"{name} 5"])
    assert (await shop.store.prune(0), await shop.store.latest(RUN)) == (1, None)
