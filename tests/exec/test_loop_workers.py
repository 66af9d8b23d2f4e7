"""Several workers at one run: one of them goes on, the others start nothing more, and nothing happens twice."""

import asyncio

import pytest
from tests.exec.loop_kit import RUN, Lab, Outage, Tape, ask, said

from agent_adapter import CheckpointConflict, ModelError, RecoveryNeedsDecision
from agent_adapter.exec import Happened, Rerun

REFUSALS = (CheckpointConflict, RecoveryNeedsDecision)


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


def worker(lab, name, **states):
    """The store as another process sees it."""
    tape = Tape(lab.store, owner=name)
    tape.states = states
    return tape


async def ended(*tasks):
    """What became of each task."""
    await asyncio.wait(tasks)
    return [task.exception() or task.result() for task in tasks]


@pytest.mark.parametrize("names", ["abcd", "aaaa"], ids=["four processes", "four tasks"])
async def test_of_four_that_recover_at_once_one_completes_the_run(lab, names):
    """Item 97"""
    lab.play([ask("charge", cents=1)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run(checkpoints=worker(lab, "first"))
    lab.play(lab.script[0], [ask("charge", cents=2)], "done")
    recovering = [asyncio.create_task(lab.recover(checkpoints=worker(lab, n))) for n in names]
    ends = await ended(*recovering)
    completed = [end for end in ends if not isinstance(end, BaseException)]
    assert len(completed) == 1
    assert all(isinstance(end, REFUSALS) for end in ends if end is not completed[0])
    assert lab.ran == [("charge", 1), ("charge", 2)]
    assert (await lab.status(), said(completed[0])[-1]) == ("done", ("assistant", "done"))


async def test_a_frozen_worker_starts_nothing_more_once_its_run_was_taken_over(lab):
    """Item 98"""
    frozen, thawed = asyncio.Event(), asyncio.Event()
    first = worker(lab, "first")

    async def before(what):
        if what == "claim started" and "claim done" in first.writes:
            frozen.set()
            await thawed.wait()

    first.before = before
    lab.play([ask("charge", cents=1), ask("charge", cents=2), ask("charge", cents=3)], "done")
    working = asyncio.create_task(lab.run(checkpoints=first, concurrency=1))
    await frozen.wait()
    result = await lab.recover(checkpoints=worker(lab, "second", first="alive"))
    thawed.set()
    [late] = await ended(working)
    assert isinstance(late, CheckpointConflict)
    assert lab.ran == [("charge", n) for n in (1, 2, 3)]
    assert (result.status, await lab.status()) == ("done", "done")


async def test_a_worker_that_thaws_while_the_next_one_is_at_its_turn_starts_nothing(lab):
    """Item 98: it is refused by its position, before the turn is over and whatever is recorded of the call."""
    frozen, thawed, inside, go = (asyncio.Event() for _ in range(4))
    first = worker(lab, "first")

    async def before(what):
        if what == "claim started" and "claim done" in first.writes:
            frozen.set()
            await thawed.wait()

    async def work(cents):
        if cents == 2:
            inside.set()
            await go.wait()

    first.before = before
    lab.inside["charge"] = work
    lab.play([ask("charge", cents=n) for n in (1, 2, 3, 4)], "done")
    working = asyncio.create_task(lab.run(checkpoints=first, concurrency=1))
    await frozen.wait()
    second = worker(lab, "second", first="alive")
    taking = asyncio.create_task(lab.recover(checkpoints=second, concurrency=1))
    await inside.wait()
    thawed.set()
    [late] = await ended(working)
    assert isinstance(late, CheckpointConflict)
    assert lab.ran == [("charge", 1), ("charge", 2)]
    go.set()
    await ended(taking)
    assert lab.ran == [("charge", n) for n in (1, 2, 3, 4)]


async def test_a_reply_that_came_after_the_run_was_taken_over_begins_nothing(lab):
    """Item 98: not even a call that may run twice, and that has no record of its start."""
    asked, thawed = asyncio.Event(), asyncio.Event()

    async def reply(request):
        asked.set()
        await thawed.wait()
        return [ask("charge", cents=1), ask("note", text="a")]

    lab.play(reply)
    working = asyncio.create_task(lab.run(checkpoints=worker(lab, "first")))
    await asked.wait()
    lab.play("done")
    result = await lab.recover(checkpoints=worker(lab, "second", first="alive"))
    thawed.set()
    [late] = await ended(working)
    assert isinstance(late, CheckpointConflict)
    assert (lab.ran, result.status, await lab.status()) == ([], "done", "done")


async def frozen_inside(lab, name="first"):
    """A worker that is frozen between its effect and its record; its task, and what lets it go on."""
    thawed = asyncio.Event()
    reached = asyncio.Event()

    async def freeze(cents):
        reached.set()
        await thawed.wait()

    lab.inside["charge"] = freeze
    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    first = worker(lab, name)
    working = asyncio.create_task(lab.run(checkpoints=first, concurrency=1))
    await reached.wait()
    lab.inside.clear()
    return working, thawed


@pytest.mark.parametrize("state", ["alive", "unknown", "dead"])
async def test_the_question_says_whether_the_worker_is_known_to_be_dead(lab, state):
    """Items 86 and 97: nothing is written, and the worker goes on undisturbed when it lives."""
    working, thawed = await frozen_inside(lab)
    second = worker(lab, "second", first=state)
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(checkpoints=second)
    [call] = raised.value.calls
    assert (call.owner_known_dead, second.writes) == (state == "dead", [])
    thawed.set()
    [result] = await ended(working)
    assert (result.status, lab.ran) == ("done", [("charge", 1), ("charge", 2)])


async def test_a_worker_of_this_very_process_is_not_taken_for_dead(lab):
    """Item 86: a task that is still at the call lives, although it is nobody else's."""
    working, thawed = await frozen_inside(lab, "me")
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(checkpoints=worker(lab, "me"))
    thawed.set()
    [result] = await ended(working)
    assert [call.owner_known_dead for call in raised.value.calls] == [False]
    assert (result.status, lab.ran) == ("done", [("charge", 1), ("charge", 2)])


@pytest.mark.parametrize("decision", [Rerun(), Happened("by hand")], ids=["rerun", "happened"])
async def test_a_worker_that_was_cut_off_in_a_body_keeps_its_late_outcome_and_stops(
    lab, decision, monkeypatch
):
    """Item 98: `rerun` over a living worker is the one thing that gives two effects, and somebody said so."""
    monkeypatch.setattr("agent_adapter.exec._recover.CLAIM_WAIT_S", 0.0)
    monkeypatch.setattr("agent_adapter.exec._loop_durable.CLAIM_WAIT_S", 0.0)
    working, thawed = await frozen_inside(lab)
    second = worker(lab, "second", first="alive")
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(checkpoints=second)
    [call] = raised.value.calls
    result = await lab.recover(checkpoints=second, decisions={call.question_id: decision})
    thawed.set()
    [late] = await ended(working)
    assert isinstance(late, CheckpointConflict)
    assert result.status == "done"
    again = [("charge", 1)] if decision == Rerun() else []
    assert lab.ran == [("charge", 1), *again, ("charge", 2)]


async def test_a_call_that_a_living_worker_began_is_waited_for(lab):
    """Item 97: it began between the look and the take-over; its outcome counts, and it is asked about nobody."""
    inside, taken, replied, go = (asyncio.Event() for _ in range(4))
    first = worker(lab, "first")
    second = worker(lab, "second", first="alive")

    async def hold(what):
        if what == "claim started":
            replied.set()
            await go.wait()

    async def work(cents):
        inside.set()
        await taken.wait()

    async def look_then_take(what):
        if what == "save running" and not second.writes:
            go.set()
            await inside.wait()

    first.before, second.before = hold, look_then_take
    second.after = lambda what: taken.set()
    lab.inside["charge"] = work
    lab.play([ask("charge", cents=1)], "done")
    working = asyncio.create_task(lab.run(checkpoints=first))
    await replied.wait()
    recovering = asyncio.create_task(lab.recover(checkpoints=second))
    late, result = await ended(working, recovering)
    assert isinstance(late, CheckpointConflict)
    assert lab.ran == [("charge", 1)]
    assert said(result)[2] == ("tool", "charged 1")


async def test_a_run_that_was_deleted_under_its_worker_ends_with_a_conflict(lab):
    async def remove(cents):
        await lab.store.delete(RUN)

    lab.inside["charge"] = remove
    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    with pytest.raises(CheckpointConflict):
        await lab.run(concurrency=1)
    assert await lab.store.latest(RUN) is None
    assert lab.ran == [("charge", 1)]


async def test_a_new_run_under_a_deleted_runs_id_is_not_taken_for_it(lab):
    lab.play([ask("charge", cents=1)], "done")
    lab.break_at(5)
    with pytest.raises(Outage):
        await lab.run()
    await lab.store.delete(RUN)
    lab.tape = Tape(lab.store)
    await lab.run()
    assert lab.ran == [("charge", 1)] * 2
    assert len(set(lab.keys)) == 2
