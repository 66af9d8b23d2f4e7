"""Ledger, the straight road: a call runs once, is recorded, and is answered from the record ever after."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from agent_adapter import ConfigError, ToolPolicy
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter.exec.integration import Attempt, Ledger, Replay

CAREFUL = ToolPolicy()
IDEMPOTENT = ToolPolicy(idempotent=True)
READ_ONLY = ToolPolicy(read_only=True)
POLICIES = pytest.mark.parametrize(
    "policy", [CAREFUL, IDEMPOTENT, READ_ONLY], ids=["careful", "idempotent", "read only"]
)


@POLICIES
async def test_a_finished_call_is_answered_from_the_record(fleet, call, policy):
    """item 88"""
    outcomes = [await fleet.run(name, call, policy=policy) for name in ("a", "a", "b", "c")]
    assert outcomes == [{"receipt": 1}] * 4
    assert len(fleet.ran) == 1


@pytest.mark.parametrize(
    "outcome", [None, False, 0, "", [], {}, {"deep": [{"x": [1.5, "ü\u0000"]}]}]
)
async def test_every_plain_outcome_is_one(fleet, call, outcome):
    async def body(attempt):
        fleet.ran.append(attempt.idempotency_key)
        return outcome

    assert await fleet.run("a", call, body) == outcome
    entered = await fleet["b"].enter(call, policy=CAREFUL)
    assert entered == Replay(outcome)
    assert type(entered.outcome) is type(outcome)


async def test_what_was_replayed_is_a_copy(fleet, call):
    await fleet.run("a", call)
    (await fleet["a"].enter(call, policy=CAREFUL)).outcome["receipt"] = 99
    assert await fleet.run("a", call) == {"receipt": 1}


async def test_equal_calls_are_two_wishes(fleet, call):
    """item 91"""
    twin = replace(call, key="k2", call_id="call_2")
    assert [await fleet.run("a", c) for c in (call, twin, call, twin)] == [
        {"receipt": 1},
        {"receipt": 2},
        {"receipt": 1},
        {"receipt": 2},
    ]


async def test_the_record_is_stored_before_the_body_begins(fleet, call):
    """item 85"""
    seen = []

    async def body(attempt):
        seen.extend(record.state for record in (await fleet.records(call)).values())

    await fleet.run("a", call, body)
    assert seen == ["started"]
    assert [record.state for record in (await fleet.records(call)).values()] == ["done"]


async def test_a_read_changes_nothing(fleet, call):
    await fleet.run("a", call)
    before = await fleet.records(call)
    await fleet.run("b", call)
    assert await fleet.records(call) == before


@POLICIES
async def test_twenty_tasks_at_one_call_run_one_body(fleet, call, policy):
    async def slow(attempt):
        await asyncio.sleep(0)
        return await fleet.charge(attempt)

    outcomes = await asyncio.gather(*(fleet.run("a", call, slow, policy=policy) for _ in range(20)))
    assert outcomes == [{"receipt": 1}] * 20
    assert len(fleet.ran) == 1


@POLICIES
def test_twenty_threads_with_loops_of_their_own_run_one_body(fleet, call, policy):
    together = threading.Barrier(20)

    def work(_):
        together.wait()
        return asyncio.run(fleet.run("a", call, policy=policy))

    fleet["a"]
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(work, range(20))) == [{"receipt": 1}] * 20
    assert len(fleet.ran) == 1


async def test_a_waiter_that_is_cancelled_does_not_end_the_wait_of_the_others(fleet, call):
    attempt = await fleet["a"].enter(call, policy=CAREFUL)
    waiters = [asyncio.create_task(fleet.run("a", call)) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    await attempt.start(None)
    await attempt.finish("first")
    attempt.land()
    assert await asyncio.gather(*waiters[1:]) == ["first", "first"]
    with pytest.raises(asyncio.CancelledError):
        await waiters[0]
    assert fleet.ran == []


async def test_an_attempt_that_lands_unused_leaves_the_call_to_the_next(fleet, call):
    attempt = await fleet["a"].enter(call, policy=CAREFUL)
    assert isinstance(attempt, Attempt)
    attempt.land()
    attempt.land()
    assert await fleet.run("a", call) == {"receipt": 1}


async def test_an_attempt_ends_with_its_loop(fleet, call):
    gone = asyncio.new_event_loop()
    (await fleet["a"].enter(call, policy=CAREFUL)).bind(gone)
    gone.close()
    assert await fleet.run("a", call) == {"receipt": 1}


async def test_who_waits_for_an_attempt_whose_loop_ends_goes_on_with_the_next(fleet, call):
    gone = asyncio.new_event_loop()
    (await fleet["a"].enter(call, policy=CAREFUL)).bind(gone)
    waiting = asyncio.create_task(fleet.run("a", call))
    await asyncio.sleep(0)
    gone.close()
    async with asyncio.timeout(20):
        assert await fleet.run("a", call) == {"receipt": 1}
        assert await waiting == {"receipt": 1}


async def test_a_caller_that_is_cancelled_while_it_waits_leaves_the_call_to_the_next(fleet, call):
    looked = asyncio.Event()

    class Watched(fleet.seat):
        def liveness(self, owner):
            looked.set()
            return "unknown"

    await fleet.begin("a", call)
    patient = fleet.ledger("b", Watched, claim_wait_s=60.0)
    entering = asyncio.create_task(patient.enter(call, policy=CAREFUL))
    await looked.wait()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    fleet.ledger("b", Watched)
    assert (await fleet.ask("b", call)).cause == "busy"


async def test_kept_values_are_those_of_the_first_writer(fleet, call):
    ledgers = [fleet[name] for name in "abc"]
    assert await ledgers[0].kept(call) is None
    kept = await asyncio.gather(*(ledger.keep(call, {"by": n}) for n, ledger in enumerate(ledgers)))
    assert kept == [kept[0]] * 3
    assert [await ledger.kept(call) for ledger in ledgers] == [kept[0]] * 3


async def test_a_key_is_used_by_one_user_only_now_and_later(fleet, call):
    users = [("a", "q1"), ("b", "q2"), ("a", "q2"), ("b", "q1")]
    assert [await fleet[name].use_once(call, by) for name, by in users] == [
        True,
        False,
        False,
        True,
    ]


async def test_a_run_is_finished_when_every_call_has_its_outcome(fleet, call):
    second = replace(call, key="k2")
    assert await fleet["a"].finished(call.run)
    await fleet.run("a", call)
    assert await fleet["a"].finished(call.run)
    attempt = await fleet.begin("a", second)
    assert not await fleet["b"].finished(call.run)
    await attempt.finish("late")
    assert await fleet["b"].finished(call.run)


def test_a_store_without_claims_is_refused_at_once():
    """item 59"""

    class Plain:
        save = latest = record_call = calls = list_unfinished = delete = MemoryCheckpointStore.save

    with pytest.raises(
        ConfigError, match=r"Plain has no claim_call/position .the CallClaims protocol"
    ):
        Ledger(Plain())
