"""Whether durable calls stay parallel: 100 calls of 50 ms in one turn, and a fleet of 100 runs of 10 calls each.

    python benchmarks/loop_parallel.py [--rounds 5] [--directory DIR]

The turn is run with a store and without one, interleaved; goal: at most 1.3 x, in at most 10 commits. The fleet is held
against what a store without a writer of its own does, a new connection for each of two commits per call; goal: at least 5
times as fast, without lock errors, in at most 0.15 commits per call. WAL and synchronous=FULL everywhere.
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from agent_adapter import ToolCall, run_tool_loop, tool
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.testing.models import ScriptedModel

CALLS = 100
RUNS = 100
CALLS_PER_RUN = 10
BODY_S = 0.05
RESULT = '{"note":"a row of a result","ok":true},' * 50


@tool
async def slow(n: int) -> str:
    """Waits for something else."""
    await asyncio.sleep(BODY_S)
    return RESULT


@tool
async def charge(n: int) -> str:
    """Must never happen twice."""
    return RESULT


class Log:
    """Counts the commits of a database: a reader that never ends keeps its write-ahead log from starting over."""

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._reader = sqlite3.connect(path, isolation_level=None)
        self._reader.execute("BEGIN")
        self._reader.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def commits(self) -> int:
        """The frames that carry the size of the file after a commit."""
        frames = self._log.read_bytes()
        page = int.from_bytes(frames[8:12], "big")
        places = range(32, len(frames) - 23 - page, 24 + page)
        return sum(int.from_bytes(frames[at + 4 : at + 8], "big") > 0 for at in places)

    def close(self) -> None:
        """Let the log start over."""
        self._reader.close()


async def turn(store: SQLiteCheckpointStore | None) -> float:
    """Seconds of a run of one turn, its calls side by side."""
    calls = [ToolCall(f"c{n}", slow.name, {"n": n}) for n in range(CALLS)]
    model = ScriptedModel([calls, "done"])
    began = time.perf_counter()
    await run_tool_loop(model, [slow], "go", checkpoints=store, concurrency=CALLS)
    return time.perf_counter() - began


async def fleet(store: SQLiteCheckpointStore) -> float:
    """Seconds of many runs at once, one call a turn."""

    async def run() -> None:
        turns = [[ToolCall(f"c{n}", charge.name, {"n": n})] for n in range(CALLS_PER_RUN)]
        model = ScriptedModel([*turns, "done"])
        await run_tool_loop(model, [charge], "go", checkpoints=store, max_steps=CALLS_PER_RUN + 1)

    began = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(RUNS)))
    return time.perf_counter() - began


def commit_once(path: Path, document: str) -> None:
    """One commit on a connection of its own."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, document TEXT)")
    connection.execute("INSERT INTO calls (document) VALUES (?)", (document,))
    connection.close()


async def connection_per_commit(path: Path) -> float:
    """Seconds of as many calls with a connection for each of their commits, off the event loop."""

    async def run() -> None:
        for _ in range(2 * CALLS_PER_RUN):
            await asyncio.to_thread(commit_once, path, RESULT)

    commit_once(path, RESULT)
    began = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(RUNS)))
    return time.perf_counter() - began


async def measure(folder: Path, rounds: int) -> None:
    """Both questions, round by round."""
    store = SQLiteCheckpointStore(folder / "store.db")
    await turn(store)
    log = Log(folder / "store.db")
    times: list[list[float]] = []
    commits: list[list[int]] = []
    for _ in range(rounds):
        marks = [log.commits()]
        durable = await turn(store)
        marks.append(log.commits())
        runs = await fleet(store)
        marks.append(log.commits())
        commits.append([marks[1] - marks[0], marks[2] - marks[1]])
        plain = await turn(None)
        times.append([durable, plain, runs, await connection_per_commit(folder / "floor.db")])
    log.close()
    in_turn, in_fleet = map(statistics.median, zip(*commits, strict=True))
    durable, plain, runs, naive = map(statistics.median, zip(*times, strict=True))
    calls = RUNS * CALLS_PER_RUN
    ratio = statistics.median(one[0] / one[1] for one in times)
    faster = statistics.median(one[3] / one[2] for one in times)
    print("WAL, synchronous=FULL on all sides")
    print(
        f"{CALLS} calls of {BODY_S * 1000:.0f} ms in a turn: {durable * 1000:.0f} ms, without a store"
        f" {plain * 1000:.0f} ms, {ratio:.2f} x, {in_turn:.0f} commits"
    )
    print(
        f"{RUNS} runs of {CALLS_PER_RUN} calls: {runs:.2f} s, with a connection per commit {naive:.2f} s,"
        f" {faster:.1f} times as fast, {in_fleet / calls:.3f} commits per call"
    )


def main() -> None:
    """Read the options, measure in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--directory", default=None, help="where the databases are made; the disk that is measured"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        asyncio.run(measure(Path(folder), options.rounds))


if __name__ == "__main__":
    main()
