"""What a durable loop costs per call beside the least that two commits can cost, and whether it grows with the run.

    python benchmarks/loop_cost.py [--turns 10 100 300 1000] [--rounds 5] [--directory DIR]

Work: a scripted model with no latency, N turns of one call with a 2 kB result. Both sides commit power-safe (WAL,
synchronous=FULL), interleaved. The floor is a bare cached sqlite3 connection that writes the bytes of such a turn in two
commits per call. Goals: at most 1.5 x the floor, for an idempotent tool (it needs no record before its body) 0.9 x; bytes
and time per call at turn 1,000 at most 1.2 x those at turn 10; at most 1.3 x the history kept.
"""

import argparse
import asyncio
import math
import random
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_adapter import Tool, ToolCall, run_tool_loop, tool
from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore
from agent_adapter.testing.models import ScriptedModel

WORDS = [
    "amount",
    "bank",
    "city",
    "date",
    "euro",
    "farm",
    "gate",
    "house",
    "item",
    "june",
    "king",
    "lake",
]


def rows(seed: int, size: int = 2000) -> str:
    """A text of so many characters that looks like rows of a table, another one for each seed."""
    chance = random.Random(seed)  # noqa: S311 - the same work each time
    text = ""
    while len(text) < size:
        text += (
            f'{{"id":{chance.randrange(10**9)},"{chance.choice(WORDS)}":{chance.random():.4f}}},'
        )
    return text[:size]


RESULTS = [rows(seed) for seed in range(100)]


@tool
async def charge(n: int) -> str:
    """Must never happen twice: two records."""
    return RESULTS[n % 100]


@tool(idempotent=True)
async def look_up(n: int) -> str:
    """May run again: one record."""
    return RESULTS[n % 100]


class Floor:
    """Two commits per call on one cached connection, nothing else."""

    def __init__(self, path: Path, first: int, second: int) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("CREATE TABLE calls (id INTEGER PRIMARY KEY, document TEXT)")
        self.sizes = (first, second)

    def ms_per_call(self, calls: int) -> float:
        """Milliseconds per call of a run of so many."""
        texts = [[rows(n, size) for size in self.sizes] for n in range(10)]
        began = time.perf_counter()
        for n in range(calls):
            first, second = texts[n % 10]
            self.commit("INSERT INTO calls (document) VALUES (?)", first)
            self.commit("UPDATE calls SET document = ? WHERE id = last_insert_rowid()", second)
        return (time.perf_counter() - began) * 1000 / calls

    def commit(self, statement: str, document: str) -> None:
        """One transaction of one statement."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(statement, (document,))
        self.connection.execute("COMMIT")


class Metered(SQLiteCheckpointStore):
    """A store that counts the bytes handed to it, by turn, and how large its write-ahead log was after each turn.

    A reader that never ends keeps the log from starting over, so every page that was written is in it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path
        self.log = path.with_name(f"{path.name}-wal")
        self.bytes: Counter[int] = Counter()
        self.log_bytes: list[int] = []
        self.parts: Counter[str] = Counter()

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        """As the store's; one save is one turn."""
        self.log_bytes.append(self.log.stat().st_size if self.log.exists() else 0)
        self._count("save", len(checkpoint.document) + sum(map(len, checkpoint.history)))
        await super().save(run_id, step, checkpoint)

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        """As the store's."""
        self._count(call.state, len(call.document or ""))
        return await super().claim_call(run_id, segment, call, seen, step=step)

    def _count(self, what: str, size: int) -> None:
        self.bytes[len(self.log_bytes)] += size
        self.parts[what] += size


def scripted(used: Tool, turns: int) -> ScriptedModel:
    """A model that asks for one call in each of so many turns, and keeps no request."""

    def reply(n: int) -> Any:
        model.requests[-1] = None  # type: ignore[call-overload]
        return [ToolCall(f"c{n}", used.name, {"n": n})] if n < turns else "done"

    model = ScriptedModel([lambda _, n=n: reply(n) for n in range(turns + 1)])
    return model


async def loop(used: Tool, turns: int, store: SQLiteCheckpointStore | None) -> float:
    """Milliseconds per call of one run."""
    model = scripted(used, turns)
    began = time.perf_counter()
    result = await run_tool_loop(model, [used], "go", checkpoints=store, max_steps=turns + 1)
    assert len(result.tool_results) == turns  # noqa: S101 - a run that did less is no measurement
    return (time.perf_counter() - began) * 1000 / turns


async def metered(used: Tool, turns: int, path: Path) -> Metered:
    """The store of one run, with what was counted."""
    store = Metered(path)
    await store.position("none")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
    await loop(used, turns, store)
    reader.close()
    return store


def kept(path: Path) -> tuple[int, int]:
    """Bytes of the database file once its log is emptied into it, and of the history that it keeps, as plain JSON."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    history = 0
    for (chunk,) in connection.execute("SELECT chunk FROM agent_adapter_history"):
        history += len(chunk if isinstance(chunk, str) else zlib.decompress(chunk))
    connection.close()
    return path.stat().st_size, history


async def peak(used: Tool, turns: int, store: SQLiteCheckpointStore | None) -> float:
    """The most memory that a run held at once, in kB."""
    tracemalloc.start()
    await loop(used, turns, store)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1000


def around(values: Sequence[int], turn: int) -> float:
    """The median near a turn: what SQLite writes differs a little from commit to commit."""
    return statistics.median(values[max(turn - 10, 1) : turn])


async def print_bytes(folder: Path, turns: int) -> tuple[int, int]:
    """Print what is written at turn 10, 100, ... of one run; the bytes of a turn's two commits."""
    first = second = 0
    for used in (look_up, charge):
        store = await metered(used, turns, folder / f"bytes-{used.name}.db")
        log = [after - before for before, after in pairwise(store.log_bytes)]
        print(f"\n{used.name}: commits per call {commits(store.log) / turns:.2f}")
        print("  turn  bytes handed to the store  bytes in its log")
        for turn in (turn for turn in (10, 100, 300, 1000) if turn <= turns):
            handed = around([store.bytes[n] for n in range(turns + 1)], turn)
            print(f"  {turn:>4}  {handed:>25,.0f}  {around(log, turn):>16,.0f}")
        size, history = kept(store.path)
        print(f"  kept {size:,} bytes for a history of {history:,}: {size / history:.2f} x")
        first = (store.parts["save"] + store.parts["started"]) // turns
        second = store.parts["done"] // turns
    return first, second


def commits(log: Path) -> int:
    """The transactions in a write-ahead log: the frames that carry the size of the file after a commit."""
    frames = log.read_bytes()
    page = int.from_bytes(frames[8:12], "big")
    places = range(32, len(frames) - 23 - page, 24 + page)
    return sum(int.from_bytes(frames[at + 4 : at + 8], "big") > 0 for at in places)


async def print_times(folder: Path, sizes: tuple[int, int], turns: list[int], rounds: int) -> None:
    """Print milliseconds per call, all sides in turns, and the ratio to the floor, pair by pair."""
    floor = Floor(folder / "floor.db", *sizes)
    store = SQLiteCheckpointStore(folder / "loop.db")
    print(
        f"\n{'turns':>5}  floor ms"
        + "".join(f"{name:>22}" for name in ("charge", "look_up", "bare"))
    )
    growth: dict[str, list[tuple[int, float]]] = {}
    for count in turns:
        times: dict[str, list[float]] = {}
        for n in range(rounds + 1):
            measured = {"floor": floor.ms_per_call(count)}
            for used in (charge, look_up):
                measured[used.name] = await loop(used, count, store)
            measured["bare"] = await loop(charge, count, None)
            for name, ms in measured.items():
                # The first round warms up.
                times.setdefault(name, []).extend([ms] if n else [])
        line = f"{count:>5}  {statistics.median(times['floor']):>8.2f}"
        for name in ("charge", "look_up", "bare"):
            pairs = zip(times[name], times["floor"], strict=True)
            ratio = statistics.median(ms / base for ms, base in pairs)
            line += f"{statistics.median(times[name]):>12.2f} = {ratio:>5.2f} x"
            growth.setdefault(name, []).append((count, ratio))
        print(line)
    for name, ratios in growth.items():
        (few, first), (many, last) = ratios[0], ratios[-1]
        if many > few:
            print(
                f"{name}: from {few} to {many} turns a call beside the floor costs {last / first:.2f} x"
                f" (exponent {math.log(last / first) / math.log(many / few):.2f})"
            )


async def measure(options: argparse.Namespace, folder: Path) -> None:
    """Everything, counts first."""
    most = max(options.turns)
    sizes = await print_bytes(folder, most)
    print(
        "\nWAL, synchronous=FULL on both sides; the floor commits twice per call:", *sizes, "bytes"
    )
    await print_times(folder, sizes, options.turns, options.rounds)
    durable = await peak(charge, most, SQLiteCheckpointStore(folder / "memory.db"))
    bare = await peak(charge, most, None)
    print(f"\npeak memory at {most} turns: {durable:,.0f} kB, without a store {bare:,.0f} kB")


def main() -> None:
    """Read the options, measure in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, nargs="+", default=[10, 100, 300, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--directory", default=None, help="where the databases are made; the disk that is measured"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        asyncio.run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
