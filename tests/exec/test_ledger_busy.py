"""Ledger, several workers: waiting for a live one, conflicts, late outcomes, and a run deleted under its worker."""

import asyncio
from dataclasses import replace

import pytest

from agent_adapter import CheckpointConflict, ToolPolicy
from agent_adapter.exec._questions import DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Ledger, Question

CAREFUL = ToolPolicy()
IDEMPOTENT = ToolPolicy(idempotent=True)
HAPPENED = {"kind": "decided", "happened": True, "value": "paid"}


class Clock:
    """A clock that the tests turn."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_live_worker_is_waited_for(fleet, call):
    looked = asyncio.Event()

    class Watched(fleet.seat):
        def liveness(self, owner):
            looked.set()
            return "alive"

    attempt = await fleet.begin("a", call)
    fleet.ledger("b", Watched, claim_wait_s=60.0)
    waiting = asyncio.create_task(fleet.run("b", call))
    await looked.wait()
    await attempt.finish("first")
    attempt.land()
    assert await waiting == "first"
    assert len(fleet.ran) == 1


async def test_a_live_worker_that_does_not_finish_in_time_is_a_conflict(fleet, call):
    """item 97"""
    await fleet.begin("a", call)
    clock = Clock()
    looks = []

    class Watched(fleet.seat):
        def liveness(self, owner):
            looks.append(clock.now)
            clock.now += 2.0
            return "alive"

    fleet.ledger("b", Watched, claim_wait_s=5.0, clock=clock)
    with pytest.raises(
        CheckpointConflict, match="call 'call_1' of tool 'charge' is still run"
    ) as e:
        await fleet.run("b", call)
    assert e.value.run_id == call.run
    assert looks == [0.0, 2.0, 4.0]
    assert len(fleet.ran) == 1
    # Nothing was asked, and nothing is left in the way of the worker.
    assert await fleet["c"].open_question(call) is None


async def test_nobody_waits_for_the_dead(fleet, call):
    await fleet.die("a", call)
    fleet.ledger("b", claim_wait_s=60.0)
    async with asyncio.timeout(20):
        assert (await fleet.ask("b", call)).cause == "died"


async def test_nobody_waits_for_a_worker_that_said_how_it_ended(fleet, call):
    attempt = await fleet.begin("a", call)
    await attempt.fail("raised", OSError())
    fleet.ledger("b", claim_wait_s=60.0)
    async with asyncio.timeout(20):
        assert (await fleet.ask("b", call)).cause == "raised"


async def test_a_worker_that_may_live_is_asked_about_after_the_wait(fleet, call):
    attempt = await fleet.begin("a", call)
    fleet.states["a"] = "unknown"
    question = await fleet.ask("b", call)
    assert question == Question(
        id=question.id,
        cause="busy",
        tool="charge",
        arguments={"amount": 5},
        call_id="call_1",
        idempotency_key=attempt.idempotency_key,
        owner_known_dead=False,
    )


async def test_without_liveness_nobody_is_known_dead(fleet, call, memory_store):
    class Mute:
        def __init__(self, store):
            for name in ("save", "latest", "record_call", "calls", "list_unfinished", "delete"):
                setattr(self, name, getattr(store, name))
            self.claim_call, self.position = store.claim_call, store.position

    key = "0123456789abcdef"
    first, second = (
        Ledger(Mute(memory_store), checkpoint_key=key, claim_wait_s=0.0) for _ in range(2)
    )
    fleet._ledgers = {"a": first, "b": second}
    await fleet.begin("a", call)
    question = await fleet.ask("b", call)
    assert (question.cause, question.owner_known_dead) == ("busy", False)


async def test_a_person_may_decide_over_a_live_worker_where_the_settings_say_so(fleet, call):
    await fleet.begin("a", call)
    fleet.ledger("b", on_busy="ask")
    question = await fleet.ask("b", call)
    assert (question.cause, question.owner_known_dead) == ("busy", False)
    answers = {question.id: Happened("paid")}
    assert await fleet.run("b", call, answers=answers) == HAPPENED


async def test_a_question_stays_the_same_when_its_worker_turns_out_to_be_dead(fleet, call):
    await fleet.begin("a", call)
    fleet.ledger("b", on_busy="ask")
    busy = await fleet.ask("b", call)
    fleet.states["a"] = "dead"
    died = await fleet.ask("c", call)
    assert (died.id, died.cause, died.owner_known_dead) == (busy.id, "died", True)


@pytest.mark.parametrize("decision", [Rerun(), Happened("paid"), DoNotRun()], ids=repr)
async def test_a_late_outcome_is_kept_beside_the_decision_and_stops_its_worker(
    fleet, call, decision
):
    """item 98: a worker that was frozen wakes up after a person decided over its head."""
    frozen = await fleet.begin("a", call)
    fleet.states["a"] = "unknown"
    question = await fleet.ask("b", call)
    outcome = await fleet.run("b", call, answers={question.id: decision})
    with pytest.raises(CheckpointConflict, match="its late outcome is kept beside the record"):
        await frozen.finish("late")
    frozen.land()
    assert await fleet.run("a", call) == outcome
    main, late = (await fleet.records(call)).values()
    assert (main.key, main.state, late.state) == ("k1", "done", "done")
    assert late.key.startswith("k1#late:")
    assert '"outcome":"late"' in late.document


@pytest.mark.parametrize("end", ["fail", "pause", "unrecordable", "contain"])
async def test_every_late_end_stops_its_worker(fleet, call, end):
    frozen = await fleet.begin("a", call)
    fleet.states["a"] = "unknown"
    question = await fleet.ask("b", call)
    await fleet.run("b", call, answers={question.id: Happened("paid")})
    ends = {
        "fail": lambda: frozen.fail("raised", OSError("late")),
        "pause": lambda: frozen.pause("sure?", None),
        "unrecordable": lambda: frozen.unrecordable("$: object"),
        "contain": frozen.contain,
    }
    with pytest.raises(CheckpointConflict):
        await ends[end]()
    assert await fleet.run("c", call) == HAPPENED


async def test_a_late_failure_does_not_keep_the_run_from_being_finished(fleet, call):
    frozen = await fleet.begin("a", call)
    fleet.states["a"] = "unknown"
    question = await fleet.ask("b", call)
    await fleet.run("b", call, answers={question.id: Happened("paid")})
    with pytest.raises(CheckpointConflict):
        await frozen.fail("raised", OSError("late"))
    assert await fleet["c"].finished(call.run)


async def test_two_workers_at_a_repeatable_call_get_one_outcome(fleet, call):
    let_go = await fleet.hold("b", call, policy=IDEMPOTENT)
    assert await fleet.run("c", call, policy=IDEMPOTENT) == {"receipt": 2}
    assert await let_go() == {"receipt": 2}
    assert await fleet.run("d", call, policy=IDEMPOTENT) == {"receipt": 2}


async def test_a_worker_that_was_asked_about_while_it_ran_still_records_its_outcome(fleet, call):
    running = await fleet.begin("a", call)
    fleet.states["a"] = "unknown"
    assert (await fleet.ask("b", call)).cause == "busy"
    await running.finish("first")
    running.land()
    assert await fleet.run("b", call) == "first"
    assert list(await fleet.records(call)) == ["k1"]
    assert await fleet["b"].open_question(call) is None
    assert await fleet["b"].finished(call.run)


@pytest.mark.parametrize("end", ["finish", "fail", "pause", "unrecordable", "contain"])
async def test_a_worker_whose_run_was_deleted_writes_nothing(fleet, call, end):
    """item 54"""
    attempt = await fleet.begin("a", call)
    await fleet.store.delete(call.run)
    ends = {
        "finish": lambda: attempt.finish("late"),
        "fail": lambda: attempt.fail("raised", OSError("late")),
        "pause": lambda: attempt.pause("sure?", None),
        "unrecordable": lambda: attempt.unrecordable("$: object"),
        "contain": attempt.contain,
    }
    with pytest.raises(CheckpointConflict):
        await ends[end]()
    attempt.land()
    assert await fleet.store.position(call.run) is None
    assert await fleet.run("a", call) == {"receipt": 2}


async def test_a_worker_whose_run_was_deleted_writes_nothing_into_its_next_life(fleet, call):
    """item 54"""
    attempt = await fleet.begin("a", call)
    await fleet.store.delete(call.run)
    await fleet.run("b", call)
    with pytest.raises(CheckpointConflict):
        await attempt.finish("late")
    attempt.land()
    assert await fleet.run("a", call) == {"receipt": 2}
    assert list(await fleet.records(call)) == ["k1"]


async def test_a_repeatable_call_whose_run_was_deleted_writes_nothing(fleet, call):
    await fleet.run("a", replace(call, key="k0"))
    attempt = await fleet.begin("a", call, policy=IDEMPOTENT)
    await fleet.store.delete(call.run)
    with pytest.raises(CheckpointConflict):
        await attempt.finish("late")
    assert await fleet.store.position(call.run) is None


async def test_a_ledger_that_remembers_a_deleted_run_goes_on_in_its_next_life(fleet, call):
    await fleet.run("a", call)
    await fleet.store.delete(call.run)
    assert await fleet["a"].kept(call) is None
    await fleet.run("b", call)
    assert await fleet.run("a", call) == {"receipt": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        "broken",
        "surrogate",
    ],
)
async def test_a_failure_that_cannot_be_printed_is_recorded_all_the_same(fleet, call, wrong):
    class Unprintable(Exception):
        def __str__(self):
            if wrong == "broken":
                raise ValueError("no text")
            return "\ud800"

    attempt = await fleet.begin("a", call)
    await attempt.fail("raised", Unprintable())
    attempt.land()
    assert (await fleet.ask("b", call)).cause == "raised"
