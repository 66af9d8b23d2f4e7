"""The store contract: compare-and-set on a single call."""

import asyncio
from typing import Any

from agent_adapter.errors import CheckpointConflict, ToolUsageError
from agent_adapter.exec.checkpoints import CallClaims, CallLookup, CheckpointStore, DurableStore
from agent_adapter.testing._store_values import (
    BAD_NUMBERS,
    BAD_RUN_IDS,
    checkpoint,
    record,
    refused,
)


async def it_has_the_protocols(store: Any) -> None:
    """The store has the methods of both protocols."""
    assert isinstance(store, CheckpointStore)
    assert isinstance(store, CallClaims)


async def one_of_many_claims_wins(store: DurableStore) -> None:
    """Eight claims of one call have one winner, and the others are given its record."""
    await store.save("run", 0, checkpoint())
    mine = [record(document=f"worker {n}") for n in range(8)]
    given = await asyncio.gather(*(store.claim_call("run", 0, call, None, step=0) for call in mine))
    assert await store.calls("run", 0) == [given[0]]
    assert given == [given[0]] * 8
    assert [call == given[0] for call in mine].count(True) == 1


async def a_claim_replaces_exactly_what_was_seen(store: DurableStore) -> None:
    """The record moves only from the one that was seen; another one is returned and stays."""
    await store.save("run", 0, checkpoint())
    started, done = record(), record(state="done", document="result")
    assert await store.claim_call("run", 0, started, None) == started
    assert await store.claim_call("run", 0, done, record(document="another")) == started
    assert await store.claim_call("run", 0, done, record(state="pending")) == started
    assert await store.claim_call("run", 0, done, None) == started
    assert await store.calls("run", 0) == [started]
    assert await store.claim_call("run", 0, done, started) == done
    assert await store.calls("run", 0) == [done]


async def a_claim_whose_answer_was_lost_succeeds_again(store: DurableStore) -> None:
    """A record that stands already counts as the caller's, whatever it says it has seen."""
    await store.save("run", 0, checkpoint())
    started, done = record(), record(state="done")
    for seen in (None, None, done):
        assert await store.claim_call("run", 0, started, seen) == started
    for seen in (started, started):
        assert await store.claim_call("run", 0, done, seen) == done
    assert await store.calls("run", 0) == [done]


async def claims_leave_other_calls_alone(store: DurableStore) -> None:
    """Each key has its own record, in the order first claimed."""
    await store.save("run", 0, checkpoint())
    for key in ("b", "a"):
        await store.claim_call("run", 0, record(key), None)
    await store.claim_call("run", 0, record("b", "done"), record("b"))
    assert await store.calls("run", 0) == [record("b", "done"), record("a")]


async def a_claim_needs_the_current_position(store: DurableStore) -> None:
    """Another segment, another step where one is given, and an unknown run are refused; nothing is stored."""
    await store.save("run", 0, checkpoint(segment=1))
    await store.save("run", 1, checkpoint(segment=2))
    for run_id, segment, step in (
        ("run", 1, None),
        ("run", 3, None),
        ("run", 2, 0),
        ("run", 2, 2),
        ("run", 1, 1),
        ("unknown", 0, None),
    ):
        await refused(
            CheckpointConflict, store.claim_call(run_id, segment, record(), None, step=step)
        )
    assert await store.calls("run", 2) == []
    assert await store.claim_call("run", 2, record(), None, step=1) == record()


async def a_claim_on_a_record_that_is_gone_is_refused(store: DurableStore) -> None:
    """What was seen and is no longer there cannot be replaced."""
    await store.save("run", 0, checkpoint())
    await refused(CheckpointConflict, store.claim_call("run", 0, record(state="done"), record()))
    assert await store.calls("run", 0) == []


async def bad_claims_are_refused(store: DurableStore) -> None:
    """Bad arguments of a claim are the caller's fault, and so is the record of another call as `seen`."""
    await store.save("run", 0, checkpoint())
    wrong: Any = {}
    for bad in BAD_RUN_IDS:
        await refused(ToolUsageError, store.claim_call(bad, 0, record(), None))
        await refused(ToolUsageError, store.position(bad))
    for bad in BAD_NUMBERS:
        await refused(ToolUsageError, store.claim_call("run", bad, record(), None))
        if bad is not None:
            await refused(ToolUsageError, store.claim_call("run", 0, record(), None, step=bad))
    await refused(ToolUsageError, store.claim_call("run", 0, wrong, None))
    await refused(ToolUsageError, store.claim_call("run", 0, record(), wrong))
    await refused(ToolUsageError, store.claim_call("run", 0, record("a"), record("b")))
    assert await store.calls("run", 0) == []


async def a_record_never_outlives_its_segment(store: DurableStore) -> None:
    """A record that races a save to a new segment is refused or dropped, never kept under the new number."""
    await store.save("run", 0, checkpoint())
    for step in range(1, 21):
        raced = await asyncio.gather(
            store.record_call("run", step - 1, record("upsert")),
            store.claim_call("run", step - 1, record("claim"), None, step=step - 1),
            store.save("run", step, checkpoint(segment=step)),
            store.record_call("run", step - 1, record("late")),
            return_exceptions=True,
        )
        failed = [outcome for outcome in raced if isinstance(outcome, BaseException)]
        assert all(type(outcome) is CheckpointConflict for outcome in failed), failed
        assert (await store.calls("run", step - 1), await store.calls("run", step)) == ([], [])


async def a_new_run_and_its_first_claim_may_be_submitted_together(store: DurableStore) -> None:
    """`save(0)` and a claim that are submitted together both succeed, or the claim is refused and can be repeated."""
    _, claimed = await asyncio.gather(
        store.save("run", 0, checkpoint(segment=7)),
        store.claim_call("run", 7, record(), None),
        return_exceptions=True,
    )
    if isinstance(claimed, CheckpointConflict):
        claimed = await store.claim_call("run", 7, record(), None)
    assert claimed == record()
    assert await store.calls("run", 7) == [record()]


async def the_position_is_step_and_segment(store: DurableStore) -> None:
    """`position` follows every save and is None without a run."""
    assert await store.position("run") is None
    await store.save("run", 0, checkpoint(segment=3))
    assert await store.position("run") == (0, 3)
    await store.save("run", 1, checkpoint(segment=9))
    assert await store.position("run") == (1, 9)
    await store.delete("run")
    assert await store.position("run") is None


async def one_call_is_found_with_its_segment(store: DurableStore) -> None:
    """A point read gives the current segment and the record, whatever else is in the log."""
    if not isinstance(store, CallLookup):
        return
    find = store.find_call
    assert await find("run", "key") is None
    await store.save("run", 0, checkpoint(segment=4))
    assert await find("run", record().key) == (4, None)
    await store.claim_call("run", 4, record(), None)
    assert await find("run", record().key) == (4, record())
    await store.save("run", 1, checkpoint(segment=5))
    assert await find("run", record().key) == (5, None)
    for bad in BAD_RUN_IDS:
        await refused(ToolUsageError, find(bad, "key"))
