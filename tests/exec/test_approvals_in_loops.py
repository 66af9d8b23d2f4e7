"""Approvals in a loop: what waits, who decides, and that exactly what was decided runs, once."""

from dataclasses import replace
from typing import Any

import pytest
from tests.exec.agents_kit import NO, RUN, YES, Bench, ask, play, said

from agent_adapter import (
    ApprovalConflict,
    CheckpointConflict,
    NotSealable,
    RunContext,
    Tool,
    ToolUsageError,
    tool,
)
from agent_adapter.exec.checkpoints import DurableStore

MAIL = (ask("mail", to="x"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


async def test_a_parked_call_is_recorded_and_the_run_is_paused(bench: Bench):
    """Item 113: it is not among the unfinished ones, and the body has not run."""
    paused = await bench.run(play(MAIL), [bench.mail])
    (request,) = paused.pending
    assert (paused.status, paused.tool_results, bench.ran) == ("paused", (), [])
    assert (request.tool, request.arguments, request.run_id) == ("mail", {"to": "x"}, RUN)
    assert (request.call_id, request.path) == ("mail-x", "")
    assert await bench.records() == [("mail", "pending")]
    assert await bench.store.list_unfinished() == []
    assert await bench.approvals.list_pending() == [request]


async def test_an_undecided_run_is_paused_again_and_nothing_changes(bench: Bench):
    """Item 114: same step, no write at all, no second request, no model call."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    before = (await bench.step(), await bench.records(), await bench.approvals.list_pending())
    for _ in range(2):
        again = await bench.recover(model, [bench.mail])
        assert (again.status, again.pending, again.tool_results) == ("paused", paused.pending, ())
        assert (again.run_id, again.steps, bench.worker.writes) == (RUN, 1, 0)
    now = (await bench.step(), await bench.records(), await bench.approvals.list_pending())
    assert (now, len(model.requests)) == (before, 1)


async def test_an_approved_call_runs_once_and_the_run_ends(bench: Bench):
    """Items 113, 95."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    result = await bench.recover(model, [bench.mail])
    assert said(result)[2:] == [("tool", "mailed x"), ("assistant", "done")]
    assert [each.tool for each in result.tool_results] == ["mail"]
    assert (bench.ran, await bench.approvals.list_pending()) == ([("mail", "x")], [])
    with pytest.raises(CheckpointConflict, match="ended"):
        await bench.recover(model, [bench.mail])
    assert bench.ran == [("mail", "x")]


async def test_a_denied_call_never_runs_and_the_model_is_told_why(bench: Bench):
    """Item 118: who denied and why stand in the store after the end."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending, NO)
    result = await bench.recover(model, [bench.mail])
    assert said(result)[2] == ("tool", "ToolDenied: denied by bob: too dear")
    assert (result.messages[2].status, result.tool_results[0].status) == ("denied", "denied")
    assert bench.ran == []
    stored = await bench.approvals.get(paused.pending[0].id)
    assert (stored.decision.decided_by, stored.decision.reason) == ("bob", "too dear")


async def test_who_approved_and_why_stand_in_the_store_after_the_end(bench: Bench):
    """Item 118: and the decision is used up by this call."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    await bench.recover(model, [bench.mail])
    stored = await bench.approvals.get(paused.pending[0].id)
    assert (stored.decision.decided_by, stored.decision.reason) == ("ann", "fine")
    assert stored.consumer is not None
    with pytest.raises(ApprovalConflict):
        await bench.approvals.consume(paused.pending[0].id, "somebody else")


async def test_a_later_equal_call_waits_for_a_decision_of_its_own(bench: Bench):
    """Item 116: in the next turn, with the same tool, arguments and call id."""
    model = play(MAIL, MAIL, "done")
    first = await bench.run(model, [bench.mail])
    await bench.decide(first.pending)
    second = await bench.recover(model, [bench.mail])
    assert (second.status, bench.ran) == ("paused", [("mail", "x")])
    assert second.pending[0].id != first.pending[0].id
    await bench.decide(second.pending, NO)
    assert (await bench.recover(model, [bench.mail])).status == "done"
    assert bench.ran == [("mail", "x")]


async def test_equal_calls_of_one_turn_wait_for_a_decision_each(bench: Bench):
    """Item 116: equal calls are two wishes."""
    model = play([ask("mail", "1", to="x"), ask("mail", "2", to="x")], "done")
    paused = await bench.run(model, [bench.mail])
    first, second = paused.pending
    await bench.decide([first], NO)
    await bench.decide([second], YES)
    result = await bench.recover(model, [bench.mail])
    assert [text for _, text in said(result)[2:4]] == [
        "ToolDenied: denied by bob: too dear",
        "mailed x",
    ]
    assert bench.ran == [("mail", "x")]


async def test_equal_calls_of_another_run_wait_for_a_decision_of_their_own(bench: Bench):
    """Item 116."""
    first = await bench.run(play(MAIL), [bench.mail])
    await bench.decide(first.pending)
    second = await bench.run(play(MAIL), [bench.mail], run_id="run-2")
    assert (second.status, bench.ran) == ("paused", [])
    assert second.pending[0].id != first.pending[0].id


async def test_a_run_that_was_deleted_and_made_anew_does_not_find_its_old_decision(bench: Bench):
    """Item 116: the same run id, another life."""
    first = await bench.run(play(MAIL), [bench.mail])
    await bench.decide(first.pending)
    await bench.store.delete(RUN)
    second = await bench.run(play(MAIL), [bench.mail])
    assert (second.status, bench.ran) == ("paused", [])


async def test_three_of_three_wait_and_what_is_decided_is_what_runs(bench: Bench):
    """Item 39: two approved, one denied, decided in another order."""
    model = play([ask("mail", to=to) for to in "abc"], "done")
    paused = await bench.run(model, [bench.mail])
    assert [request.arguments["to"] for request in paused.pending] == ["a", "b", "c"]
    c, a, b = (paused.pending[at] for at in (2, 0, 1))
    await bench.decide([c, a])
    await bench.decide([b], NO)
    result = await bench.recover(model, [bench.mail])
    assert sorted(bench.ran) == [("mail", "a"), ("mail", "c")]
    assert [each.status for each in result.tool_results] == ["ok", "denied", "ok"]


async def test_calls_beside_a_parked_one_run_once_and_replay(bench: Bench):
    """Item 121: failed ones too."""

    @tool
    async def broken() -> str:
        bench.effect("broken", None)
        raise ValueError("broken")

    tools = [bench.charge, bench.mail, broken]
    model = play([ask("charge", cents=1), *MAIL, ask("broken"), ask("none")], "done")
    paused = await bench.run(model, tools)
    assert [each.tool for each in paused.tool_results] == ["charge", "broken", "none"]
    await bench.decide(paused.pending)
    result = await bench.recover(model, tools)
    assert sorted(name for name, _ in bench.ran) == ["broken", "charge", "mail"]
    texts = [text for _, text in said(result)[2:6]]
    assert texts[:2] == ["charged 1", "mailed x"]
    assert "broken" in texts[2]
    assert result.tool_results[0].tool == "mail"


async def test_a_call_that_cannot_wait_is_named_and_the_run_is_not_paused(bench: Bench):
    """Item 122."""

    @tool
    async def odd() -> Any:
        bench.effect("odd", None)
        return object()

    with pytest.raises(NotSealable, match="odd"):
        await bench.run(play([ask("odd"), *MAIL], "done"), [odd, bench.mail])
    assert (bench.ran, (await bench.step())[1]) == ([("odd", None)], "running")


async def test_a_request_of_a_run_is_not_resumed_on_its_own(bench: Bench):
    """Item 26: the error names the run; nothing is decided, and the run goes on as before."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    with pytest.raises(ToolUsageError, match=RUN):
        await bench.executor.resume(paused.pending[0].id, True)
    stored = await bench.approvals.get(paused.pending[0].id)
    assert (stored.decision, bench.ran) == (None, [])


async def test_a_tool_body_that_catches_everything_cannot_swallow_the_pause(bench: Bench):
    """Item 119: the approval comes before the body."""

    @tool(confirm=True)
    async def wary() -> str:
        try:
            bench.effect("wary", None)
        except BaseException:  # noqa: BLE001 - what the test is about
            return "caught"
        return "ran"

    paused = await bench.run(play([ask("wary")], "done"), [wary])
    assert (paused.status, bench.ran) == ("paused", [])


async def test_confirm_is_asked_of_the_arguments_and_the_context(bench: Bench):
    """Only calls for which it says so wait."""
    seen: list[tuple[Any, Any]] = []

    def dear(arguments: Any, ctx: RunContext) -> bool:
        seen.append((arguments, ctx.user))
        return arguments["to"] == "b"

    mail: Tool = replace(bench.mail, confirm=dear)
    model = play([ask("mail", to="a"), ask("mail", to="b")], "done")
    paused = await bench.run(model, [mail], ctx=RunContext(user="ada"))
    assert [each.arguments for each in paused.pending] == [{"to": "b"}]
    assert (bench.ran, seen) == ([("mail", "a")], [({"to": "a"}, "ada"), ({"to": "b"}, "ada")])
