"""A loop that breaks at any write: what is finished replays, what may have happened is asked about, nothing runs twice."""

import asyncio
from collections import Counter

import pytest
from tests.exec.loop_kit import RUN, Lab, Outage, Tape, ask, said

from agent_adapter import ModelError, RecoveryNeedsDecision
from agent_adapter.exec import Happened, Rerun
from agent_adapter.models import ModelReply

# Equal calls, one that may run again, two turns.
TURN_1 = [ask("charge", "a", cents=1), ask("charge", "b", cents=1), ask("note", text="x")]
TURN_2 = [ask("charge", "c", cents=1), ask("charge", "d", cents=2)]
SCRIPT = (ModelReply("so", tuple(TURN_1)), TURN_2, "done")
WHOLE = [
    *(("user", "go"), ("assistant", "so"), ("tool", "charged 1"), ("tool", "charged 1")),
    *(("tool", "noted x"), ("assistant", ""), ("tool", "charged 1"), ("tool", "charged 2")),
    ("assistant", "done"),
]
WRITES = 13


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def doubts(lab):
    """The calls that the recovery asks about."""
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover()
    return raised.value.calls


def decide(lab, needed):
    """What somebody says who looked at the effects: what happened happened, and the rest may run."""
    return {
        call.question_id: Happened(f"charged {call.arguments['cents']}")
        if call.idempotency_key in lab.keys
        else Rerun()
        for call in needed.calls
    }


async def test_the_run_of_the_sweep_has_as_many_writes_as_it_breaks_at(lab):
    lab.play(*SCRIPT)
    await lab.run(concurrency=1)
    assert lab.tape.writes == [
        *("save running", "save running", *["claim started", "claim done"] * 2, "claim done"),
        *("save running", *["claim started", "claim done"] * 2, "save done"),
    ]
    assert len(lab.tape.writes) == WRITES


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("answer_lost", [False, True])
@pytest.mark.parametrize("write", range(2, WRITES + 1))
async def test_a_run_that_broke_at_any_write_ends_as_if_it_had_not(
    lab, write, answer_lost, concurrency
):
    """Item 105: in one process; a person who looked says of each call in doubt whether it had run."""
    lab.play(*SCRIPT)
    lab.break_at(write, answer_lost=answer_lost)
    with pytest.raises(Outage):
        await lab.run(concurrency=concurrency)
    if await lab.status() == "done":
        assert (write, answer_lost) == (WRITES, True)
        return
    try:
        result = await lab.recover()
    except RecoveryNeedsDecision as needed:
        result = await lab.recover(decisions=decide(lab, needed))
    assert said(result) == WHOLE
    assert sorted(cents for name, cents in lab.ran if name == "charge") == [1, 1, 1, 2]
    charged = [key for key, (name, _) in zip(lab.keys, lab.ran, strict=True) if name == "charge"]
    assert len(set(charged)) == 4
    assert lab.asked <= 4


async def test_the_reply_and_the_start_are_stored_before_the_body_begins(lab):
    """Item 85"""
    seen = []

    async def look(cents):
        stored = await lab.store.latest(RUN)
        seen.append((stored.checkpoint.history[-1], [r.state for r in await lab.records()]))

    lab.inside["charge"] = look
    lab.play([ask("charge", cents=1)], "done")
    await lab.run()
    [(history, states)] = seen
    assert '"charge-1"' in history
    assert states == ["started"]


async def test_finished_calls_replay_and_no_policy_looks_at_them_again(lab):
    """Item 88"""
    looked = Counter()

    def guard(call, ctx):
        looked["guard"] += 1

    def confirm(arguments, ctx):
        looked["confirm"] += 1
        return False

    lab.change("charge", guards=(guard,), confirm=confirm)
    lab.play([ask("charge", cents=1)], "done")
    lab.break_at(5)
    with pytest.raises(Outage):
        await lab.run()
    assert [record.state for record in await lab.records()] == ["done"]
    result = await lab.recover()
    assert (lab.ran, looked) == ([("charge", 1)], {"guard": 1, "confirm": 1})
    assert said(result)[2] == ("tool", "charged 1")


async def test_a_crash_while_the_model_is_asked_runs_no_tool_again(lab):
    """Items 89 and 104"""
    asked = asyncio.Event()

    async def hang(request):
        asked.set()
        await asyncio.Event().wait()

    lab.play(TURN_1, hang)
    running = asyncio.create_task(lab.run())
    await asked.wait()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert await lab.status() == "running"
    lab.play(TURN_1, "done")
    await lab.recover()
    assert sorted(map(str, lab.ran)) == ["('charge', 1)", "('charge', 1)", "('note', 'x')"]


async def test_of_a_turn_the_finished_replays_the_doubtful_asks_and_the_rest_runs(lab):
    """Item 90"""
    lab.play([ask("charge", cents=n) for n in (1, 2, 3)], "done")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    assert lab.ran == [("charge", 1), ("charge", 2)]
    result = await lab.recover(rerun_in_doubt=True)
    assert lab.ran == [("charge", 1), ("charge", 2), ("charge", 2), ("charge", 3)]
    assert [text for role, text in said(result) if role == "tool"] == [
        *("charged 1", "charged 2", "charged 3")
    ]
    assert [found.value for found in result.tool_results] == ["charged 2", "charged 3"]


async def test_a_crash_between_equal_calls_runs_only_the_second_again(lab):
    """Item 91"""
    lab.play([ask("charge", "a", cents=1), ask("charge", "b", cents=1)], "done")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    first, second = lab.keys
    result = await lab.recover(rerun_in_doubt=True)
    assert lab.keys == [first, second, second]
    assert [message.call_id for message in result.messages if message.role == "tool"] == ["a", "b"]


@pytest.mark.parametrize("answer_lost", [False, True])
async def test_no_body_begins_when_its_start_was_not_stored(lab, answer_lost):
    """Item 106"""
    lab.play([ask("charge", cents=1)], "done")
    lab.break_at(3, answer_lost=answer_lost)
    with pytest.raises(Outage):
        await lab.run()
    assert lab.ran == []
    if answer_lost:
        assert [call.tool for call in await doubts(lab)] == ["charge"]
    else:
        await lab.recover()
        assert lab.ran == [("charge", 1)]


async def test_no_body_begins_when_the_reply_was_not_stored(lab):
    """Item 85"""
    lab.play([ask("charge", cents=1), ask("note", text="a")], "done")
    lab.break_at(2)
    with pytest.raises(Outage):
        await lab.run()
    assert (lab.ran, lab.tape.writes[:2]) == ([], ["save running"] * 2)
    assert await lab.records() == []


async def test_an_outcome_that_was_not_stored_ends_the_loop_and_is_in_doubt(lab):
    """Item 106"""
    lab.play([ask("charge", cents=1)], "done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run()
    assert [call.tool for call in await doubts(lab)] == ["charge"]
    assert lab.ran == [("charge", 1)]


async def test_an_outcome_whose_answer_was_lost_is_the_outcome(lab):
    """Item 106"""
    lab.play([ask("charge", cents=1)], "done")
    lab.break_at(4, answer_lost=True)
    with pytest.raises(Outage):
        await lab.run()
    await lab.recover()
    assert lab.ran == [("charge", 1)]


@pytest.mark.parametrize("at", ["claim started", "claim done", "save done"])
async def test_a_run_that_is_cancelled_while_it_writes_ends_as_if_it_had_not(lab, at):
    """Item 104: whatever was on its way is stored or not when the cancellation arrives, and recovery knows which."""
    reached, released = asyncio.Event(), asyncio.Event()

    async def before(what):
        if what == at:
            reached.set()
            await released.wait()

    lab.play([ask("charge", cents=1)], "done")
    lab.tape.before = before
    running = asyncio.create_task(lab.run())
    await reached.wait()
    running.cancel()
    released.set()
    await asyncio.wait([running])
    assert running.cancelled()
    lab.tape.before = None
    try:
        result = await lab.recover()
    except RecoveryNeedsDecision as needed:
        assert at == "claim done"
        result = await lab.recover(decisions={needed.calls[0].question_id: Happened("charged 1")})
    assert lab.ran == [("charge", 1)]
    assert said(result)[-1] == ("assistant", "done")


async def test_a_failed_call_is_finished_too(lab):
    def fail(cents):
        raise ValueError("no such card")

    lab.inside["charge"] = fail
    lab.play([ask("charge", cents=1)], OSError("away"))
    with pytest.raises(ModelError):
        await lab.run()
    lab.play(lab.script[0], "sorry")
    result = await lab.recover()
    assert said(result)[2] == ("tool", "ValueError: no such card")
    assert lab.ran == [("charge", 1)]


async def test_life_after_life_the_run_gets_to_its_end_and_nothing_happens_twice(lab):
    """Item 105: each life breaks one write later than the one before."""
    lab.play(*SCRIPT)
    lab.break_at(3)
    with pytest.raises(Outage):
        await lab.run()
    said_so, result, write = {}, None, 1
    while result is None:
        worker = Tape(lab.store)
        worker.breaks_at, write = write, write + 1
        try:
            result = await lab.recover(checkpoints=worker, decisions=said_so)
        except RecoveryNeedsDecision as needed:
            said_so |= decide(lab, needed)
        except Outage:
            pass
    assert said(result) == WHOLE
    assert sorted(cents for name, cents in lab.ran if name == "charge") == [1, 1, 1, 2]
    assert write > 4


@pytest.mark.parametrize("times", [1, 2])
async def test_a_cancelled_worker_leaves_no_save_under_way(lab, times):
    """Item 104: what it was about to store stands when its task has ended, however often it is cancelled."""
    reached, released = asyncio.Event(), asyncio.Event()

    async def before(what):
        if lab.asked == 1 and what == "save running" and len(lab.tape.writes) == 1:
            reached.set()
            await released.wait()

    lab.play([ask("charge", cents=1)], "done")
    lab.tape.before = before
    running = asyncio.create_task(lab.run())
    await reached.wait()
    for _ in range(times):
        running.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
    assert not running.done()
    released.set()
    await asyncio.wait([running])
    assert running.cancelled()
    assert (await lab.store.position(RUN))[0] == 1
