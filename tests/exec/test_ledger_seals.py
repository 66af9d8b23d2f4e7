"""Ledger, the stored bytes: nothing that was changed, moved or written under another key is used."""

import re
from dataclasses import replace

import pytest

from agent_adapter import CheckpointStoreCorrupt, ConfigError, ToolPolicy
from agent_adapter.exec._questions import Rerun
from agent_adapter.exec.checkpoints import CallRecord, Checkpoint
from agent_adapter.exec.integration import CallId, Ledger

IDEMPOTENT = ToolPolicy(idempotent=True)
OLD, NEW = "an old key of more than 16", "a new key of more than 16"


async def put(fleet, call: CallId, record: CallRecord) -> None:
    """Write straight into the store."""
    position = await fleet.store.position(call.run)
    await fleet.store.record_call(call.run, position[1], record)


async def refused(fleet, call: CallId) -> None:
    """Nothing, once every way to the record was refused and nothing ran or was written."""
    ran, before = list(fleet.ran), await fleet.records(call)
    ledger = fleet.ledger("reader")
    ways = [
        lambda: ledger.enter(call, policy=ToolPolicy()),
        lambda: ledger.enter(call, policy=IDEMPOTENT),
        lambda: ledger.kept(call),
        lambda: ledger.keep(call, "mine"),
        lambda: ledger.open_question(call),
        lambda: ledger.open_questions(call.run, call.scope),
        lambda: ledger.truth(call.run, call.call_id, call.digest),
        lambda: ledger.finished(call.run),
    ]
    for way in ways:
        with pytest.raises(CheckpointStoreCorrupt) as corrupt:
            await way()
        assert corrupt.value.run_id == call.run
    assert (fleet.ran, await fleet.records(call)) == (ran, before)


@pytest.mark.parametrize("place", range(0, 100, 7))
async def test_a_flipped_byte_is_refused(fleet, call, place):
    """item 100"""
    await fleet.run("a", call)
    record = (await fleet.records(call))["k1"]
    at = len(record.document) * place // 100
    flipped = chr(ord(record.document[at]) ^ 1)
    changed = record.document[:at] + flipped + record.document[at + 1 :]
    await put(fleet, call, record.model_copy(update={"document": changed}))
    await refused(fleet, call)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "started"},
        {"state": "pending"},
        {"state": "unrecordable"},
        {"tool": "refund"},
        {"document": None},
        {"document": ""},
        {"document": '{"v":1,"outcome":"mine"}'},
    ],
    ids=repr,
)
async def test_a_changed_record_is_refused(fleet, call, change):
    """item 100"""
    await fleet.run("a", call)
    record = (await fleet.records(call))["k1"]
    await put(fleet, call, record.model_copy(update=change))
    await refused(fleet, call)


async def test_a_doubt_that_was_turned_into_an_outcome_is_refused(fleet, call):
    await fleet.die("a", call)
    record = (await fleet.records(call))["k1"]
    await put(fleet, call, record.model_copy(update={"state": "done"}))
    await refused(fleet, call)


async def test_a_record_moved_to_another_key_is_refused(fleet, call):
    """item 100"""
    await fleet.run("a", call)
    record = (await fleet.records(call))["k1"]
    await put(fleet, call, record.model_copy(update={"key": "k2"}))
    await refused(fleet, replace(call, key="k2"))


async def test_a_record_moved_to_another_run_is_refused(fleet, call):
    """item 100"""
    other = replace(call, run=f"{call.run}-2")
    for one in (call, other):
        await fleet.run("a", one)
    await put(fleet, other, (await fleet.records(call))["k1"])
    await refused(fleet, other)


async def test_a_record_of_an_earlier_life_of_the_run_is_refused(fleet, call):
    await fleet.run("a", call)
    record = (await fleet.records(call))["k1"]
    await fleet.store.delete(call.run)
    await fleet.die("a", call)
    await put(fleet, call, record)
    await refused(fleet, call)


async def test_a_log_that_was_moved_to_another_segment_is_refused(fleet, call):
    """item 100"""
    await fleet.run("a", call)
    record = (await fleet.records(call))["k1"]
    await fleet.store.delete(call.run)
    head = Checkpoint(kind="flow", name="thread", status="running", segment=1, document="head")
    await fleet.store.save(call.run, 0, head)
    await put(fleet, call, record)
    await refused(fleet, call)


async def test_a_record_changed_between_look_and_claim_is_refused(fleet, call):
    await fleet.die("a", call)
    question = await fleet.ask("b", call)
    let_go = await fleet.hold("c", call, answers={question.id: Rerun()})
    record = (await fleet.records(call))["k1"]
    await put(fleet, call, record.model_copy(update={"state": "done"}))
    with pytest.raises(CheckpointStoreCorrupt):
        await let_go()
    assert len(fleet.ran) == 1


async def test_a_changed_record_spoils_no_other_run(fleet, call):
    other = replace(call, run=f"{call.run}-2")
    for one in (call, other):
        await fleet.run("a", one)
    record = (await fleet.records(call))["k1"]
    await put(fleet, call, record.model_copy(update={"state": "pending"}))
    await refused(fleet, call)
    assert await fleet.run("b", other) == {"receipt": 2}


async def test_a_record_under_another_key_is_refused_and_says_which(fleet, call):
    """item 100"""
    await fleet.run("a", call)
    fleet.ledger("b", checkpoint_key=NEW)
    with pytest.raises(CheckpointStoreCorrupt, match="add its key to checkpoint_key"):
        await fleet.run("b", call)
    assert len(fleet.ran) == 1


async def test_keys_rotate(fleet, call):
    """item 101"""
    second = replace(call, key="k2")
    fleet.ledger("old", checkpoint_key=OLD)
    await fleet.run("old", call)
    fleet.ledger("both", checkpoint_key=[NEW, OLD])
    assert await fleet.run("both", call) == {"receipt": 1}
    assert await fleet.run("both", second) == {"receipt": 2}
    fleet.ledger("new", checkpoint_key=NEW)
    await fleet.store.delete(call.run)
    assert await fleet.run("both", second) == {"receipt": 3}
    assert await fleet.run("new", second) == {"receipt": 3}


@pytest.mark.parametrize("key", ["short", b"", [], [OLD, "short"], 5], ids=repr)
async def test_a_bad_key_is_refused_before_anything_is_stored(fleet, call, key):
    fleet.ledger("a", checkpoint_key=key)
    with pytest.raises(ConfigError, match="checkpoint_key"):
        await fleet.run("a", call)
    assert await fleet.records(call) == {}
    assert fleet.ran == []


async def test_a_store_without_a_key_of_its_own_needs_one(fleet, call, monkeypatch):
    """item 102"""

    class Shared(fleet.seat):
        embedded_key = None

    fleet.ledger("a", Shared)
    monkeypatch.delenv("AGENT_ADAPTER_CHECKPOINT_KEY", raising=False)
    with pytest.raises(ConfigError, match=re.escape("pass checkpoint_key=…, set AGENT_ADAPTER")):
        await fleet.run("a", call)
    assert await fleet.records(call) == {}
    assert fleet.ran == []
    monkeypatch.setenv("AGENT_ADAPTER_CHECKPOINT_KEY", OLD)
    assert await fleet.run("a", call) == {"receipt": 1}
    fleet.ledger("b", Shared, checkpoint_key=OLD)
    assert await fleet.run("b", call) == {"receipt": 1}


async def test_the_idempotency_key_is_equal_for_every_attempt_of_one_call_only(fleet, call):
    """item 109, item 110, item 111"""
    calls = [
        call,
        replace(call, key="k2"),
        replace(call, key="k3", digest="d2"),
        replace(call, run=f"{call.run}-2"),
    ]
    for one in calls:
        await fleet.die("a", one)
        fleet.states["a"] = "dead"
        question = await fleet.ask("b", one)
        await fleet.run("b", one, answers={question.id: Rerun()})
    assert fleet.ran[::2] == fleet.ran[1::2]
    assert len(set(fleet.ran)) == len(calls)
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in fleet.ran)


async def test_a_call_has_another_idempotency_key_in_the_next_life_of_its_run(fleet, call):
    for _ in range(2):
        await fleet.run("a", call)
        await fleet.store.delete(call.run)
    assert len(set(fleet.ran)) == 2


async def test_repeatable_attempts_share_an_idempotency_key_without_a_record(fleet, call):
    """item 110"""
    await fleet.die("a", call, policy=IDEMPOTENT)
    await fleet.die("b", call, policy=IDEMPOTENT)
    await fleet.run("c", replace(call, key="k2"), policy=IDEMPOTENT)
    assert fleet.ran[0] == fleet.ran[1]
    assert len(set(fleet.ran)) == 2


def test_a_ledger_makes_its_key_on_first_use_only(fleet):
    class Untouched(fleet.seat):
        def embedded_key(self):
            raise AssertionError("asked too early")

    assert isinstance(fleet.ledger("a", Untouched), Ledger)
