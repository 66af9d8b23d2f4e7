"""What is stored of a loop counts only as it was sealed: any other byte is refused before anything is used."""

import stat

import pytest
from tests.exec.loop_kit import RUN, YES, Lab, Outage, Tape, ask

from agent_adapter import CheckpointStoreCorrupt, ConfigError
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore

OLD, NEW = "an old key of the run", "the new key of the run"


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


class Forger(Tape):
    """A store whose content somebody changed.

    Attributes:
        head: gives the forged checkpoint for the stored one.
        log: gives the forged records for the stored ones.
        step: what is added to the stored step.
    """

    head = log = None
    step = 0

    async def latest(self, run_id):
        stored = await super().latest(run_id)
        head = stored.checkpoint if self.head is None else self.head(stored.checkpoint)
        return stored.model_copy(update={"step": stored.step + self.step, "checkpoint": head})

    async def calls(self, run_id, segment):
        records = await super().calls(run_id, segment)
        return records if self.log is None else self.log(records)


def flipped(document, at):
    """The document with another character at that place."""
    at = int(at * (len(document) - 1))
    return document[:at] + ("x" if document[at] != "x" else "y") + document[at + 1 :]


def changed(**parts):
    """A forged checkpoint or record: each part as the function makes it of what stands there."""

    def forge(value):
        update = {
            name: make(getattr(value, name)) if callable(make) else make
            for name, make in parts.items()
        }
        return value.model_copy(update=update)

    return forge


HEADS = {
    "the seal": changed(document=lambda document: flipped(document, 0.1)),
    "the middle of the document": changed(document=lambda document: flipped(document, 0.5)),
    "the end of the document": changed(document=lambda document: flipped(document, 1)),
    "no seal": changed(document=lambda document: document.rpartition(".")[2]),
    "no document": changed(document=""),
    "status": changed(status="paused"),
    "ended": changed(status="done"),
    "kind": changed(kind="flow"),
    "segment": changed(segment=lambda segment: segment + 1),
    "name": changed(name="other"),
    "lineage": changed(lineage=lambda lineage: flipped(lineage, 0.5)),
    "a message": changed(history=lambda h: (h[0].replace("go", "no"), *h[1:])),
    "a message more": changed(history=lambda h: (*h, h[-1])),
    "a message less": changed(history=lambda h: h[:-1]),
    "no messages": changed(history=()),
    "the order of messages": changed(history=lambda h: h[::-1]),
    "where a chunk ends": changed(history=lambda h: ("".join(h),)),
}


def first_record(**parts):
    return lambda records: [changed(**parts)(records[0]), *records[1:]]


LOGS = {
    "the seal": first_record(document=lambda document: flipped(document, 0.1)),
    "the end of the document": first_record(document=lambda document: flipped(document, 1)),
    "no document": first_record(document=None),
    "state": first_record(state="unrecordable"),
    "key": first_record(key=lambda key: f"{key[:-1]}7"),
    "tool": first_record(tool="note"),
    "documents of two calls": lambda records: [
        changed(document=records[1].document)(records[0]),
        changed(document=records[0].document)(records[1]),
    ],
}


async def crashed(lab, **given):
    """A run that broke after one of its two calls was done, and while the other one was under way."""
    lab.play([ask("charge", cents=1), ask("charge", cents=2)], "done")
    lab.break_at(6)
    with pytest.raises(Outage):
        await lab.run(concurrency=1, **given)
    lab.ran.clear()


async def refused(lab, store, error=CheckpointStoreCorrupt, **given):
    """Nothing of it was used: no model, no tool, no write."""
    with pytest.raises(error):
        await lab.recover(checkpoints=store, rerun_in_doubt=True, **given)
    assert (lab.ran, lab.models[-1].requests) == ([], [])
    assert getattr(store, "writes", []) == []


@pytest.mark.parametrize("forged", HEADS)
async def test_a_forged_head_is_refused(lab, forged):
    """Item 100"""
    await crashed(lab)
    forger = Forger(lab.store)
    forger.head = HEADS[forged]
    await refused(lab, forger)


@pytest.mark.parametrize("by", [-1, 1])
async def test_a_forged_step_is_refused(lab, by):
    """Item 100"""
    await crashed(lab)
    forger = Forger(lab.store)
    forger.step = by
    await refused(lab, forger)


@pytest.mark.parametrize("forged", LOGS)
async def test_a_forged_record_is_refused(lab, forged):
    """Item 100"""
    await crashed(lab)
    forger = Forger(lab.store)
    forger.log = LOGS[forged]
    await refused(lab, forger)


async def other_run(lab):
    """What is stored of a run that was made in the same way with the same key."""
    other = Lab(lab.store)
    other.play(*lab.script)
    other.break_at(6)
    with pytest.raises(Outage):
        await other.run(run_id="other", concurrency=1)
    stored = await lab.store.latest("other")
    return stored.checkpoint, await lab.store.calls("other", stored.checkpoint.segment)


async def test_a_document_of_another_run_is_refused(lab):
    """Item 100: also when everything of it is taken over."""
    await crashed(lab)
    checkpoint, _ = await other_run(lab)
    forger = Forger(lab.store)
    forger.head = lambda head: checkpoint
    await refused(lab, forger)
    forger.head = changed(document=checkpoint.document)
    await refused(lab, forger)


async def test_a_record_of_another_run_is_refused(lab):
    """Item 100"""
    await crashed(lab)
    _, records = await other_run(lab)
    forger = Forger(lab.store)
    forger.log = lambda own: records
    await refused(lab, forger)


async def test_a_record_of_an_earlier_turn_is_refused(lab):
    """Item 100: an equal call of the next turn is not answered from it."""
    earlier = []

    async def keep(what):
        if what == "save running" and lab.ran:
            earlier.extend(await lab.records())

    lab.tape.before = keep
    lab.play([ask("charge", cents=1)], [ask("charge", cents=1)], "done")
    lab.break_at(7)
    with pytest.raises(Outage):
        await lab.run()
    assert [record.state for record in earlier] == ["done"]
    lab.tape.before = None
    lab.ran.clear()
    forger = Forger(lab.store)
    forger.log = lambda own: earlier
    await refused(lab, forger)


async def test_nothing_is_consumed_when_a_seal_is_wrong(lab):
    """Item 100"""
    lab.play([ask("mail", to="ann")], "done")
    [request] = (await lab.run()).pending
    await lab.decide(YES)
    forger = Forger(lab.store)
    forger.head = HEADS["the end of the document"]
    await refused(lab, forger)
    assert (await lab.approvals.get(request.id)).consumer is None


async def test_another_key_opens_nothing(lab):
    """Item 100"""
    await crashed(lab, checkpoint_key=OLD)
    await refused(lab, Tape(lab.store), checkpoint_key=NEW)
    await refused(lab, Tape(lab.store))


async def test_an_old_key_still_opens_and_the_new_one_seals(lab):
    """Item 101"""
    await crashed(lab, checkpoint_key=OLD)
    dying = Tape(lab.store)
    dying.breaks_at = 4
    with pytest.raises(Outage):
        await lab.recover(
            checkpoints=dying, checkpoint_key=[NEW, OLD], rerun_in_doubt=True, concurrency=1
        )
    assert dying.writes == ["save running", "claim started", "claim done", "save done"]
    lab.ran.clear()
    await refused(lab, Tape(lab.store), checkpoint_key=OLD)
    assert (await lab.recover(checkpoint_key=[NEW, OLD])).status == "done"


async def test_what_was_saved_after_a_rotation_opens_with_the_new_key_alone(lab):
    """Item 101: the next turn's head and records know nothing of the old key."""
    lab.play([ask("charge", cents=1)], [ask("charge", cents=2)], "done")
    lab.break_at(5)
    with pytest.raises(Outage):
        await lab.run(checkpoint_key=OLD)
    dying = Tape(lab.store)
    dying.breaks_at = 5
    with pytest.raises(Outage):
        await lab.recover(checkpoints=dying, checkpoint_key=[NEW, OLD])
    assert dying.writes[-2:] == ["claim done", "save done"]
    result = await lab.recover(checkpoint_key=NEW)
    assert (result.status, lab.ran) == ("done", [("charge", 1), ("charge", 2)])


async def test_a_sqlite_store_makes_a_key_of_its_own_and_uses_it_again(tmp_path):
    """Item 102"""
    path = tmp_path / "runs.db"
    lab = Lab(SQLiteCheckpointStore(path))
    await crashed(lab)
    assert stat.S_IMODE(path.with_name("runs.db.key").stat().st_mode) == 0o600
    lab.store = lab.tape.store = SQLiteCheckpointStore(path)
    assert (await lab.recover(rerun_in_doubt=True)).status == "done"


async def test_without_its_key_file_a_sqlite_store_refuses_its_runs(tmp_path):
    """Item 102"""
    path = tmp_path / "runs.db"
    lab = Lab(SQLiteCheckpointStore(path))
    await crashed(lab)
    path.with_name("runs.db.key").unlink()
    again = SQLiteCheckpointStore(path)
    await refused(lab, Tape(again), ConfigError)
    assert not path.with_name("runs.db.key").exists()


async def test_a_shared_store_without_a_key_is_refused_before_step_0(lab):
    """Item 102"""

    class Shared(Tape):
        embedded_key = None

    lab.tape = Shared(lab.store)
    lab.play("done")
    with pytest.raises(ConfigError, match="checkpoint_key"):
        await lab.run()
    assert (await lab.store.latest(RUN), lab.asked) == (None, 0)
    assert (await lab.run(checkpoint_key=NEW)).status == "done"


@pytest.mark.parametrize("key", ["short", b"", [], [NEW, "short"], 5], ids=str)
async def test_a_key_that_is_none_is_refused_before_step_0(lab, key):
    lab.play("done")
    with pytest.raises(ConfigError):
        await lab.run(checkpoint_key=key)
    assert (await lab.store.latest(RUN), lab.asked) == (None, 0)
