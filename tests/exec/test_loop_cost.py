"""run_tool_loop, what a run costs in exact counts: operations and bytes handed to the store, commits, bytes kept."""

import base64
import random
import sqlite3
import statistics
import zlib
from collections import Counter

import pytest

from agent_adapter import Executor, ModelError, ToolCall, recover_tool_loop, run_tool_loop, tool
from agent_adapter.exec.checkpoints import MemoryCheckpointStore, SQLiteCheckpointStore
from agent_adapter.testing.models import ScriptedModel

READS = {"latest", "position", "calls", "find_call"}
_CHANCE = random.Random(1)  # noqa: S311 - the same texts each time
# Texts that do not pack well: nothing below holds only because of that.
RESULTS = [base64.b85encode(_CHANCE.randbytes(1600)).decode() for _ in range(50)]


@tool
async def charge(n: int) -> str:
    """Must never happen twice."""
    return RESULTS[n % 50]


@tool(idempotent=True)
async def look_up(n: int) -> str:
    """May happen again."""
    return RESULTS[n % 50]


BOTH = pytest.mark.parametrize(
    ("used", "records"),
    [(charge, ["started", "done"]), (look_up, ["done"])],
    ids=["non-idempotent", "idempotent"],
)


class Counting(MemoryCheckpointStore):
    """A store that notes what it is asked for, and the bytes that it is given, by turn: a save begins one."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.bytes = Counter()
        self.turn = 0

    async def save(self, run_id, step, checkpoint):
        self.turn = step
        self.asked.append("save")
        self.bytes[step] += len(checkpoint.document) + sum(map(len, checkpoint.history))
        await super().save(run_id, step, checkpoint)

    async def claim_call(self, run_id, segment, call, seen, *, step=None):
        self.asked.append(call.state)
        self.bytes[self.turn] += len(call.document)
        return await super().claim_call(run_id, segment, call, seen, step=step)

    async def record_call(self, *given):
        raise AssertionError("the loop never writes without looking")

    async def latest(self, run_id):
        self.asked.append("latest")
        return await super().latest(run_id)

    async def position(self, run_id):
        self.asked.append("position")
        return await super().position(run_id)

    async def calls(self, run_id, segment):
        self.asked.append("calls")
        return await super().calls(run_id, segment)

    async def find_call(self, run_id, key):
        self.asked.append("find_call")
        return await super().find_call(run_id, key)

    @property
    def reads(self):
        return [what for what in self.asked if what in READS]


def ask(used, *numbers):
    return [ToolCall(f"c{n}", used.name, {"n": n}) for n in numbers]


def alone(used, turns):
    """A run of one call a turn."""
    return ScriptedModel([*(ask(used, n) for n in range(turns)), "done"])


def commits(path):
    """The transactions in a write-ahead log: the frames that carry the size of the file after a commit."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    page = int.from_bytes(log[8:12], "big")
    frames = range(32, len(log) - 23 - page, 24 + page)
    return sum(int.from_bytes(log[at + 4 : at + 8], "big") > 0 for at in frames)


@BOTH
async def test_a_turn_costs_one_save_and_the_records_of_its_calls(used, records):
    """Exact count 1: the first save makes the run, the last one ends it; nothing is read while it goes on."""
    store = Counting()
    await run_tool_loop(alone(used, 5), [used], "go", checkpoints=store)
    assert store.asked == ["save", *(["save", *records] * 5), "save"]


@BOTH
async def test_calls_side_by_side_share_the_save_of_their_turn(used, records):
    store = Counting()
    model = ScriptedModel([ask(used, *range(20)), "done"])
    await run_tool_loop(model, [used], "go", checkpoints=store)
    assert Counter(store.asked) == {"save": 3} | dict.fromkeys(records, 20)


async def test_a_recovered_turn_is_read_with_as_many_queries_however_many_calls_it_has():
    """Exact count 6: resume is a constant number of queries, and writes one position."""

    async def asked_of(calls):
        store = Counting()
        model = ScriptedModel([ask(charge, *range(calls)), ModelError("down")])
        executor = Executor(concurrency=100)
        with pytest.raises(ModelError):
            await run_tool_loop(
                model, [charge], "go", checkpoints=store, run_id="r", executor=executor
            )
        store.asked.clear()
        again = ScriptedModel([ModelError("still down")])
        with pytest.raises(ModelError):
            await recover_tool_loop(again, [charge], "r", checkpoints=store, executor=executor)
        return store.asked

    assert await asked_of(200) == await asked_of(1) == ["latest", "calls", "save", "calls"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("used", [charge, look_up], ids=["non-idempotent", "idempotent"])
async def test_turn_1000_writes_no_more_than_turn_10(used):
    """Item 108, exact count 4: bytes handed to the store at turn 1,000 are at most 1.2 x those at turn 10."""
    store = Counting()
    await run_tool_loop(alone(used, 1000), [used], "go", checkpoints=store, max_steps=1001)

    def around(turn):
        return statistics.mean(store.bytes[n] for n in range(turn - 5, turn))

    # A turn is its result twice, in its record and in the history, and little else.
    assert 2 * len(RESULTS[0]) < around(10) < 2 * len(RESULTS[0]) + 2500
    assert around(1000) <= 1.2 * around(10)


@pytest.mark.parametrize("used", [charge, look_up], ids=["non-idempotent", "idempotent"])
async def test_a_database_keeps_little_beside_the_history(tmp_path, used):
    """Item 108, exact count 3: bytes stored are at most 1.3 x the history itself, though its texts pack badly."""
    path = tmp_path / "runs.db"
    store = SQLiteCheckpointStore(path)
    result = await run_tool_loop(alone(used, 100), [used], "go", checkpoints=store, max_steps=101)
    assert len(result.messages) == 202

    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        chunks = [
            chunk for (chunk,) in connection.execute("SELECT chunk FROM agent_adapter_history")
        ]
    connection.close()
    plain = [c.encode() if isinstance(c, str) else zlib.decompress(c) for c in chunks]
    history = sum(map(len, plain))
    assert history > 100 * len(RESULTS[0])
    assert path.stat().st_size <= 1.3 * history


@pytest.mark.parametrize(
    "used",
    [
        pytest.param(charge, id="non-idempotent"),
        pytest.param(look_up, id="idempotent"),
    ],
)
async def test_a_turn_of_one_call_costs_two_commits(tmp_path, used):
    """Exact count 1: the position and the first record of a turn share a commit; the result has one of its own.

    An idempotent call has no first record: its position is stored before its body, its result after it.
    """
    path = tmp_path / "runs.db"
    store = SQLiteCheckpointStore(path)
    turns = 20
    await run_tool_loop(alone(used, 1), [used], "go", checkpoints=store)
    before = commits(path)
    await run_tool_loop(alone(used, turns), [used], "go", checkpoints=store, max_steps=turns + 1)
    made = commits(path) - before - len(["the run is made", "the run ends"])
    # What the writer's thread meets in its queue depends on the machine now and then.
    assert 2 * turns <= made <= 2.5 * turns
