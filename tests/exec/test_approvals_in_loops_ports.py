"""Approvals in a loop and the ways to ask: ports that answer at once, keep nothing, fail, or let requests expire."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.exec.agents_kit import NO, RUN, YES, Bench, Killed, agent, ask, play, said

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    ApprovalRequest,
    CheckpointConflict,
    ConfigError,
    Executor,
    RecoveryNeedsDecision,
    RunContext,
    StoreApprovals,
)
from agent_adapter.exec.checkpoints import DurableStore

MAIL = (ask("mail", to="x"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


class Port:
    """A port without a store, which says what the test makes it say."""

    def __init__(self, says: Callable[[ApprovalRequest], Any]) -> None:
        self.asked: list[tuple[ApprovalRequest, RunContext]] = []
        self._says = says

    async def request(self, request: ApprovalRequest, ctx: RunContext) -> Any:
        self.asked.append((request, ctx))
        said = self._says(request)
        if isinstance(said, BaseException):
            raise said
        return said


def asking(says: Callable[[ApprovalRequest], Any]) -> tuple[Port, Executor]:
    port = Port(says)
    return port, Executor(approvals=port)


async def test_a_port_that_answers_at_once_pauses_nothing(bench: Bench):
    """Item 116: each call is asked about, inside agents too, with the context of the run."""
    port, executor = asking(lambda request: NO if request.arguments["to"] == "no" else YES)
    helper = agent(play([ask("mail", to="in")], "helped"), bench.mail)
    model = play([ask("mail", to="yes"), ask("mail", to="no"), ask("helper", task="t")], "done")
    ctx = RunContext(user="ada")
    result = await bench.run(model, [bench.mail, helper], executor=executor, ctx=ctx)
    assert said(result)[2:5] == [
        ("tool", "mailed yes"),
        ("tool", "ToolDenied: denied by bob: too dear"),
        ("tool", "helped"),
    ]
    assert sorted(bench.ran) == [("mail", "in"), ("mail", "yes")]
    assert len({request.id for request, _ in port.asked}) == 3
    assert {(given.user, given.run_id) for _, given in port.asked} == {("ada", RUN)}


async def test_a_port_without_a_store_is_asked_again_on_recovery(bench: Bench):
    """Item 113: about the same request; until it says yes, the run stays paused."""
    answers: list[Any] = [None, None, YES]
    port, executor = asking(lambda _: answers.pop(0))
    model = play(MAIL, "done")
    first = await bench.run(model, [bench.mail], executor=executor)
    second = await bench.recover(model, [bench.mail], executor=executor)
    assert (first.status, second.status, first.pending) == ("paused", "paused", second.pending)
    assert bench.ran == []
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.status, bench.ran, len(model.requests)) == ("done", [("mail", "x")], 2)
    assert len({request.id for request, _ in port.asked}) == 1


FAILURES = {
    "True": lambda _: True,
    "a text": lambda _: "yes",
    "a request": lambda request: request,
}


@pytest.mark.parametrize("says", FAILURES.values(), ids=FAILURES.keys())
async def test_what_is_not_plainly_a_yes_is_a_no(bench: Bench, says: Any):
    """Items 11, 120: fail closed, and the model is told."""
    _, executor = asking(says)
    result = await bench.run(play(MAIL, "done"), [bench.mail], executor=executor)
    assert (result.tool_results[0].status, bench.ran) == ("denied", [])
    assert "approval port" in said(result)[2][1]


async def test_a_port_that_fails_says_neither_yes_nor_no(bench: Bench):
    """Items 11, 115: nothing runs, nothing is denied, and a later recovery asks again."""
    _, executor = asking(lambda _: RuntimeError("the mail server is down"))
    model = play(MAIL, "done")
    with pytest.raises(RuntimeError, match="mail server"):
        await bench.run(model, [bench.mail], executor=executor)
    assert (bench.ran, (await bench.step())[1]) == ([], "running")
    _, executor = asking(lambda _: YES)
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.status, bench.ran) == ("done", [("mail", "x")])


async def test_control_flow_of_a_port_passes_through_and_the_run_can_be_recovered(bench: Bench):
    """Items 11, 104."""
    _, executor = asking(lambda _: asyncio.CancelledError("the framework says"))
    model = play(MAIL, "done")
    running = asyncio.create_task(bench.run(model, [bench.mail], executor=executor))
    await asyncio.wait([running])
    assert (running.cancelled(), bench.ran, (await bench.step())[1]) == (True, [], "running")
    _, executor = asking(lambda _: YES)
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.status, bench.ran) == ("done", [("mail", "x")])


async def test_a_store_that_fails_when_the_decision_is_used_up_runs_nothing(bench: Bench):
    """Item 115: without it nobody knows that this is the only use."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)

    async def fails(*_: Any) -> Any:
        raise OSError("disk")

    kept, bench.approvals.consume = bench.approvals.consume, fails
    with pytest.raises(OSError, match="disk"):
        await bench.recover(model, [bench.mail])
    assert bench.ran == []
    bench.approvals.consume = kept
    result = await bench.recover(model, [bench.mail])
    assert (result.status, bench.ran) == ("done", [("mail", "x")])


async def test_a_decision_that_somebody_else_used_runs_nothing(bench: Bench):
    """Item 115: the run is left as it is."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    await bench.approvals.consume(paused.pending[0].id, "a stranger")
    with pytest.raises(ApprovalConflict):
        await bench.recover(model, [bench.mail])
    assert bench.ran == []


async def test_the_first_decision_stands(bench: Bench):
    """Item 145: the same again is fine, another is refused."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending, NO)
    await bench.decide(paused.pending, replace(NO, decided_by="carl"))
    with pytest.raises(ApprovalConflict):
        await bench.decide(paused.pending, YES)
    result = await bench.recover(model, [bench.mail])
    assert (said(result)[2][1], bench.ran) == ("ToolDenied: denied by bob: too dear", [])


async def test_a_request_that_expired_never_approves(bench: Bench):
    """Item 120: the run ends with a denial that the model sees, and a late decision is refused."""
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    port = StoreApprovals(bench.approvals, expires_after_s=60, clock=lambda: an_hour_ago)
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail], executor=Executor(approvals=port))
    with pytest.raises(ApprovalConflict, match="expired"):
        await bench.decide(paused.pending)
    result = await bench.recover(model, [bench.mail])
    assert said(result)[2] == ("tool", "ToolDenied: denied by expiry: nobody decided in time")
    assert (result.status, bench.ran) == ("done", [])


async def test_what_waits_is_shown_with_its_expiry(bench: Bench):
    """Item 114: the same when it is looked at again."""
    port = StoreApprovals(bench.approvals, expires_after_s=3600)
    model, executor = play(MAIL, "done"), Executor(approvals=port)
    paused = await bench.run(model, [bench.mail], executor=executor)
    again = await bench.recover(model, [bench.mail], executor=executor)
    assert again.pending[0].expires_at is not None
    assert paused.pending == again.pending


async def test_a_decision_made_in_time_counts_after_the_expiry(bench: Bench):
    """Item 123: it was decided; when the run is taken up does not matter."""
    now = [datetime.now(UTC) - timedelta(hours=1)]
    store = type(bench.approvals)(clock=lambda: now[0])
    port = StoreApprovals(store, expires_after_s=60, clock=lambda: now[0])
    model, executor = play(MAIL, "done"), Executor(approvals=port)
    paused = await bench.run(model, [bench.mail], executor=executor)
    await store.decide(paused.pending[0].id, YES)
    now[0] = datetime.now(UTC)
    result = await bench.recover(model, [bench.mail], executor=executor)
    assert (result.status, bench.ran) == ("done", [("mail", "x")])


@pytest.mark.parametrize("confirm", [True, lambda arguments, ctx: False], ids=["always", "perhaps"])
async def test_without_a_way_to_ask_the_loop_does_not_begin(bench: Bench, confirm: Any):
    """Before step 0: nothing is stored and no model is asked; nor when a run is recovered."""
    mail, model = replace(bench.mail, confirm=confirm), play(MAIL, "done")
    with pytest.raises(ConfigError, match="mail"):
        await bench.run(model, [mail], executor=Executor())
    assert (await bench.store.latest(RUN), model.requests) == (None, [])
    paused = await bench.run(model, [replace(mail, confirm=True)])
    await bench.decide(paused.pending)
    with pytest.raises(ConfigError, match="mail"):
        await bench.recover(model, [mail], executor=Executor())
    assert (bench.worker.writes, bench.ran) == (0, [])


CONFIRMS = {
    "an error": lambda arguments, ctx: 1 / 0,
    "None": lambda arguments, ctx: None,
    "a text": lambda arguments, ctx: "no",
}


@pytest.mark.parametrize("confirm", CONFIRMS.values(), ids=CONFIRMS.keys())
async def test_a_confirm_that_cannot_say_refuses(bench: Bench, confirm: Any):
    """Item 120: neither is the body run nor a person asked."""
    mail = replace(bench.mail, confirm=confirm)
    result = await bench.run(play(MAIL, "done"), [mail])
    assert (result.tool_results[0].status, bench.ran) == ("denied", [])
    assert await bench.approvals.list_pending() == []


async def test_of_many_workers_that_recover_at_once_one_runs_the_approved_call(bench: Bench):
    """Items 97, 115."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    ends = await asyncio.gather(
        *(bench.recover(model, [bench.mail]) for _ in range(6)), return_exceptions=True
    )
    lost = [end for end in ends if isinstance(end, CheckpointConflict | RecoveryNeedsDecision)]
    (won,) = [end for end in ends if not isinstance(end, BaseException)]
    assert (len(lost), won.status, bench.ran) == (5, "done", [("mail", "x")])


async def test_a_worker_that_dies_in_the_approved_body_leaves_it_in_doubt(bench: Bench):
    """Item 115: nobody has to approve again, and only a person makes it run again."""
    model = play(MAIL, "done")
    paused = await bench.run(model, [bench.mail])
    await bench.decide(paused.pending)
    bench.dies_in = {"mail"}
    with pytest.raises(Killed):
        await bench.recover(model, [bench.mail])
    bench.dies_in = set()
    result = await bench.recover(model, [bench.mail], rerun_in_doubt=True)
    assert (result.status, bench.ran) == ("done", [("mail", "x")] * 2)
    assert (len(set(bench.keys)), await bench.approvals.list_pending()) == (1, [])


async def test_what_a_port_without_a_store_decided_stands_in_the_record(bench: Bench):
    """Item 115: when the approved call runs again after a crash, nobody is asked whether it may."""
    answers: list[Any] = [YES, NO]
    port, executor = asking(lambda _: answers.pop(0))
    model = play(MAIL, "done")
    bench.dies_in = {"mail"}
    with pytest.raises(Killed):
        await bench.run(model, [bench.mail], executor=executor)
    bench.dies_in = set()
    result = await bench.recover(model, [bench.mail], executor=executor, rerun_in_doubt=True)
    assert (said(result)[2], len(port.asked)) == (("tool", "mailed x"), 1)


async def test_no_decision_is_no_approval(bench: Bench):
    """Item 120: there is no value that approves by default."""
    paused = await bench.run(play(MAIL), [bench.mail])
    with pytest.raises(TypeError):
        ApprovalDecision()
    assert (await bench.approvals.get(paused.pending[0].id)).decision is None
    assert (await bench.recover(play(MAIL), [bench.mail])).status == "paused"
    assert bench.ran == []
