"""Approvals in a loop where arguments change: exactly what was approved runs, or nothing does."""

from typing import Any

import pytest
from tests.exec.agents_kit import Bench, ask, play, said

from agent_adapter import ApprovalDecision, Executor, RunContext, StoreApprovals, tool
from agent_adapter.exec.checkpoints import DurableStore
from agent_adapter.policies import Deny, Replace

MAIL = (ask("mail", to="x"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


async def test_other_arguments_than_the_approved_ones_wait_again(bench: Bench):
    """Item 117: a guard of the next process puts others in their place."""

    def dearer(call: Any, ctx: RunContext) -> Replace:
        return Replace({"to": f"{call.arguments['to']}!"})

    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    port = StoreApprovals(bench.approvals)
    second = await bench.recover(
        model, [bench.mail], executor=Executor(approvals=port, guards=[dearer])
    )
    assert [each.arguments for each in second.pending] == [{"to": "x!"}]
    assert (second.status, bench.ran) == ("paused", [])


def edits(**arguments: Any) -> ApprovalDecision:
    return ApprovalDecision(approved=True, edits=arguments, decided_by="ann")


async def test_edited_arguments_are_the_ones_that_run(bench: Bench):
    """Item 27: converted like a model's."""

    @tool(confirm=True)
    async def pay(cents: int) -> str:
        bench.effect("pay", cents)
        return f"paid {cents}"

    model = play([ask("pay", cents=500)], "done")
    paused = await bench.run(model, [pay])
    await bench.decide(paused.pending, edits(cents="5"))
    result = await bench.recover(model, [pay])
    assert (said(result)[2], bench.ran) == (("tool", "paid 5"), [("pay", 5)])


@pytest.mark.parametrize("wrong", [{}, {"to": 5}, {"to": "x", "cc": "y"}, {"cc": "y"}])
async def test_edits_that_do_not_fit_run_nothing_and_the_model_is_told(
    bench: Bench, wrong: dict[str, Any]
):
    """Item 27."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending, edits(**wrong))
    result = await bench.recover(model, [bench.mail])
    assert (result.status, bench.ran) == ("done", [])
    assert [(each.status, each.error.kind) for each in result.tool_results] == [
        ("error", "invalid")
    ]


def guarded(bench: Bench, *guards: Any) -> Executor:
    return Executor(approvals=bench.executor.approvals, guards=list(guards))


async def test_a_guard_that_refuses_is_asked_before_a_person(bench: Bench):
    """Item 152: nobody decides about what will not run."""
    executor = guarded(bench, lambda call, ctx: Deny("never"))
    result = await bench.run(play(MAIL, "done"), [bench.mail], executor=executor)
    assert said(result)[2] == ("tool", "ToolDenied: never")
    assert await bench.approvals.list_pending() == []


async def test_a_person_is_shown_what_the_guard_left(bench: Bench):
    """Item 152: and that is what runs."""

    def safe(call: Any, ctx: RunContext) -> Replace:
        return Replace({"to": "safe"})

    executor, model = guarded(bench, safe), play(MAIL, "done")
    paused = await bench.run(model, [bench.mail], executor=executor)
    assert [each.arguments for each in paused.pending] == [{"to": "safe"}]
    await bench.decide(paused.pending)
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.status, bench.ran) == ("done", [("mail", "safe")])


async def test_a_guard_refuses_edited_arguments_too(bench: Bench):
    """Items 27, 152: an approval is no way around a guard."""

    def only_x(call: Any, ctx: RunContext) -> Deny | None:
        return None if call.arguments["to"] == "x" else Deny("only x")

    executor, model = guarded(bench, only_x), play(MAIL, "done")
    paused = await bench.run(model, [bench.mail], executor=executor)
    await bench.decide(paused.pending, edits(to="y"))
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (said(result)[2], bench.ran) == (("tool", "ToolDenied: only x"), [])


async def test_a_guard_that_would_change_edited_arguments_stops_them(bench: Bench):
    """Item 27: an approval covers exactly what was edited."""

    def upper(call: Any, ctx: RunContext) -> Replace:
        return Replace({"to": call.arguments["to"].upper()})

    executor, model = guarded(bench, upper), play(MAIL, "done")
    paused = await bench.run(model, [bench.mail], executor=executor)
    await bench.decide(paused.pending, edits(to="y"))
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.tool_results[0].status, bench.ran) == ("denied", [])
