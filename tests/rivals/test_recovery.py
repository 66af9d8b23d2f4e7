"""What other products get wrong when a worker dies, freezes or is doubled: SIGKILL, SIGSTOP, and processes that race."""

import asyncio
from typing import Any

import pytest
from tests.rivals.processes import Workers
from tests.rivals.shop import RUN, YES, Shop, ask, play
from tests.rivals.worker import CASES

from agent_adapter import CheckpointConflict, ModelError, RecoveryNeedsDecision, Tool, tool
from agent_adapter.exec import DidNotHappen, Happened, Rerun
from agent_adapter.exec.checkpoints import idempotency_key

AWAY = OSError("the provider is away")


async def test_a_charge_that_may_have_happened_is_asked_about_and_not_repeated(
    shop: Shop, workers: Workers
):
    """W01: killed between the effect and its record; the answer "it happened" ends the run with one charge."""
    workers.killed("charge", "run", "charge 5")
    model, tools = CASES["charge"](shop)
    before = await shop.position()
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await shop.recover(model, tools)
    (call,) = doubt.value.calls
    assert (call.tool, call.arguments, call.owner_known_dead) == ("charge", {"n": 5}, True)
    assert (await shop.position(), shop.effects) == (before, ["charge 5"])
    said = {call.question_id: Happened("charge 5 ok")}
    result = await shop.recover(model, tools, decisions=said)
    assert (result.status, shop.effects) == ("done", ["charge 5", "charge 7"])
    assert result.messages[2].text == "charge 5 ok"


async def test_an_idempotent_charge_is_repeated_under_the_same_key(shop: Shop):
    """W01: so that the other side can tell that it is the same one, although nothing was recorded here."""
    keys: list[str | None] = []

    @tool(idempotent=True)
    async def charge(n: int) -> str:
        keys.append(idempotency_key())
        if len(keys) == 1:
            raise asyncio.CancelledError
        return "ok"

    first = asyncio.create_task(shop.run(play([ask("charge", 5)], "done"), [charge]))
    await asyncio.wait([first])
    assert first.cancelled()
    assert (await shop.recover(play([ask("charge", 5)], "done"), [charge])).status == "done"
    assert (len(keys), len(set(keys)), None in keys) == (2, 1, False)


@pytest.mark.parametrize("happened", [True, False])
async def test_a_tool_that_can_look_it_up_is_asked_in_place_of_a_person(
    shop: Shop, workers: Workers, happened: bool
):
    """W01: a charge that took place is not repeated, and one that did not is made."""
    workers.killed("charge", "run", "charge 5")
    asked: list[Any] = []

    def probe(arguments: Any, key: str | None) -> object:
        asked.append((dict(arguments), key is None))
        return Happened("found it") if happened else DidNotHappen()

    model, _ = CASES["charge"](shop)
    tools = [shop.tool("charge", reconcile=probe)]
    assert (await shop.recover(model, tools)).status == "done"
    assert asked[0] == ({"n": 5}, False)
    # The probe lies in the second case, and its word is taken.
    assert shop.effects == ["charge 5", *([] if happened else ["charge 5"]), "charge 7"]


async def test_calls_of_the_turn_that_had_not_begun_run_after_a_crash(shop: Shop, workers: Workers):
    """W02: of three calls, the finished one is not repeated, and none of the others is dropped."""
    workers.killed("three", "run", "charge 2")
    model, tools = CASES["three"](shop)
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await shop.recover(model, tools, concurrency=1)
    said = {call.question_id: Happened("charge 2 ok") for call in doubt.value.calls}
    result = await shop.recover(model, tools, concurrency=1, decisions=said)
    told = [message.text for message in result.messages if message.role == "tool"]
    assert told == ["note 1 ok", "charge 2 ok", "charge 3 ok"]
    assert shop.effects == ["note 1", "charge 2", "charge 3"]


async def test_of_three_workers_that_recover_one_run_one_goes_on(shop: Shop, workers: Workers):
    """W03: the charges that were still to make are made once, and the others do not report success."""
    with pytest.raises(ModelError):
        await shop.run(play([ask("charge", 5)], AWAY), [shop.charge])
    said = await asyncio.to_thread(workers.race, "charge", "race", 3)
    ends = sorted(each["status"] for each in said)
    assert ends.count("done") == 1
    assert set(ends) <= {"done", "CheckpointConflict", "RecoveryNeedsDecision"}
    assert shop.effects == ["charge 5", "charge 7"]


async def test_of_four_workers_that_start_one_run_id_one_runs(shop: Shop, workers: Workers):
    """W13: the others start nothing, and nobody hears of the database."""
    said = await asyncio.to_thread(workers.race, "charge", "start", 4)
    ends = sorted(each["status"] for each in said)
    assert ends == [*["CheckpointConflict"] * 3, "done"]
    assert shop.effects == ["charge 5", "charge 7"]


async def test_of_four_tasks_that_recover_one_run_one_makes_the_charge(shop: Shop):
    """W17 e: in one process too."""
    with pytest.raises(ModelError):
        await shop.run(play([ask("charge", 5)], AWAY), [shop.charge])
    recovering = [shop.recover(*CASES["charge"](Shop(shop.path))) for _ in range(4)]
    ends = await asyncio.gather(*recovering, return_exceptions=True)
    losers = [end for end in ends if isinstance(end, BaseException)]
    assert len(losers) == 3
    assert all(isinstance(end, CheckpointConflict | RecoveryNeedsDecision) for end in losers)
    assert shop.effects == ["charge 5", "charge 7"]


async def test_a_frozen_worker_that_wakes_up_runs_nothing_more(shop: Shop, workers: Workers):
    """W27: its run was taken over and ended meanwhile; it is told so, and each charge was made once."""
    worker = workers.frozen("three", "run", "note 1")
    model, tools = CASES["three"](shop)
    result = await shop.recover(model, tools, concurrency=1)
    assert (result.status, shop.effects[1:]) == ("done", ["note 1", "charge 2", "charge 3"])
    said = await asyncio.to_thread(workers.thawed, worker)
    assert said == {"status": "CheckpointConflict"}
    assert shop.effects == ["note 1", "note 1", "charge 2", "charge 3"]


async def test_a_worker_frozen_inside_its_charge_is_not_taken_for_dead(
    shop: Shop, workers: Workers
):
    """W27: whoever recovers is asked, and told that the worker may still be at it."""
    workers.frozen("charge", "run", "charge 5")
    model, tools = CASES["charge"](shop)
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await shop.recover(model, tools)
    assert [call.owner_known_dead for call in doubt.value.calls] == [False]
    assert shop.effects == ["charge 5"]


async def test_what_an_agent_of_a_swarm_finished_is_not_repeated_after_a_crash(
    shop: Shop, workers: Workers
):
    """W24: killed in the second tool of the agent that took over; the first one is answered from the record."""
    workers.killed("swarm", "run", "note 1")
    model, tools = CASES["swarm"](shop)
    result = await shop.recover(model, tools)
    assert (result.status, result.messages[-1].text) == ("done", "sold")
    assert shop.effects == ["charge 5", "note 1", "note 1"]


async def test_calls_that_an_agent_fans_out_to_threads_are_not_repeated(
    shop: Shop, workers: Workers
):
    """W17 d: four sync tools at once, each in a thread, and a kill after them: four deliveries."""
    workers.killed("fan out", "run", "note 1")
    model, tools = CASES["fan out"](shop)
    result = await shop.recover(model, tools)
    assert result.messages[2].text == ", ".join(f"delivered {n}" for n in range(4))
    deliveries = [line for line in shop.effects if line.startswith("deliver")]
    assert sorted(deliveries) == [f"deliver {n}" for n in range(4)]


async def test_a_crashed_run_is_listed_until_it_ended(shop: Shop, workers: Workers):
    """W28: a run that waits for a person is none, a run that a killed worker left is one."""
    workers.killed("charge", "run", "charge 5")
    assert await shop.store.list_unfinished() == [RUN]
    assert await shop.store.list_unfinished(name="another loop") == []
    await shop.recover(*CASES["charge"](shop), rerun_in_doubt=True)
    assert await shop.store.list_unfinished() == []


@pytest.mark.parametrize("ends", ["crashed", "paused"])
async def test_a_run_of_six_hundred_calls_goes_on_at_its_end(shop: Shop, ends: str):
    """W14: none of sixty turns is planned again, none of its calls runs again, and no approval is lost behind them."""
    ran: list[int] = []

    async def body(n: int) -> str:
        ran.append(n)
        return "ok"

    tools = [Tool(name="step", fn=body), shop.pay]
    turns = [[ask("step", 10 * turn + n) for n in range(10)] for turn in range(60)]
    given: dict[str, Any] = {"max_steps": 70}
    if ends == "paused":
        last: list[Any] = [[ask("pay", 5)]]
        await shop.run(play(*turns, *last), tools, **given)
        assert [each.tool for each in await shop.approvals.list_pending()] == ["pay"]
        await shop.decide(YES)
    else:
        last = []
        with pytest.raises(ModelError):
            await shop.run(play(*turns, AWAY), tools, **given)
    model = play(*turns, *last, "done")
    result = await shop.recover(model, tools, **given)
    assert (result.status, len(model.requests)) == ("done", 1)
    assert (ran, shop.effects) == (list(range(600)), ["pay 5"] if last else [])


async def test_a_decision_is_for_the_attempt_that_was_asked_about(shop: Shop, workers: Workers):
    """W01: "run it again" answers one crash; the next one is a question of its own."""
    workers.killed("charge", "run", "charge 5")
    model, tools = CASES["charge"](shop)
    with pytest.raises(RecoveryNeedsDecision) as first:
        await shop.recover(model, tools)
    (question,) = [call.question_id for call in first.value.calls]
    dying = Shop(shop.path)
    dying_tools = [_cancelled(dying)]
    task = asyncio.create_task(dying.recover(model, dying_tools, decisions={question: Rerun()}))
    await asyncio.wait([task])
    assert task.cancelled()
    with pytest.raises(RecoveryNeedsDecision) as second:
        await shop.recover(model, tools, decisions={question: Rerun()})
    assert second.value.calls[0].question_id != question
    assert shop.effects == ["charge 5", "charge 5"]


def _cancelled(shop: Shop) -> Tool:
    async def body(n: int) -> str:
        await shop.effect(f"charge {n}")
        raise asyncio.CancelledError

    return Tool(name="charge", fn=body)
