"""Claims per second of SQLiteCheckpointStore, beside a bare cached sqlite3 connection, interleaved in one run.

    python benchmarks/store_throughput.py [--seconds 1.0] [--rounds 5] [--directory DIR]

Both sides commit power-safe (WAL, synchronous=FULL) and write other bytes each time. One claim is one commit of the
floor; a non-idempotent call is two of either. Printed: medians over the rounds, and the ratio to the floor.
"""

import argparse
import asyncio
import secrets
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore

CALLERS = (1, 10, 100)
# A started record is a few hundred bytes; a done one holds the result.
STARTED_BYTES = 300
DONE_BYTES = 2000


class Floor:
    """Two commits per call on one cached connection, nothing else."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("CREATE TABLE calls (id INTEGER PRIMARY KEY, document TEXT)")

    async def calls_per_second(self, seconds: float, *, in_thread: bool) -> float:
        """How many calls of two commits each one caller makes in a second, on its own thread or off the event loop."""
        count = 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            for statement, size in (
                ("INSERT INTO calls (document) VALUES (?)", STARTED_BYTES),
                ("UPDATE calls SET document = ? WHERE id = last_insert_rowid()", DONE_BYTES),
            ):
                if in_thread:
                    await asyncio.to_thread(self.commit, statement, text(size))
                else:
                    self.commit(statement, text(size))
            count += 1
        return count / (time.perf_counter() - began)

    def commit(self, statement: str, document: str) -> None:
        """One transaction of one statement."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(statement, (document,))
        self.connection.execute("COMMIT")


def text(size: int) -> str:
    """JSON-like text that differs each time and packs as results do."""
    words = secrets.token_hex(8)
    return (f'{{"id":"{words}","note":"a row of a result","ok":true}}' * (size // 50 + 1))[:size]


async def calls_per_second(store: SQLiteCheckpointStore, callers: int, seconds: float) -> float:
    """How many calls of two claims each `callers` concurrent callers make in a second."""
    began = time.perf_counter()

    async def caller() -> int:
        run_id = secrets.token_hex(8)
        head = Checkpoint(kind="loop", name="bench", status="running", segment=0, document="{}")
        await store.save(run_id, 0, head)
        count = 0
        while time.perf_counter() - began < seconds:
            key = f"tool:{secrets.token_hex(32)}:{count}"
            started = CallRecord(
                key=key, tool="tool", state="started", document=text(STARTED_BYTES)
            )
            await store.claim_call(run_id, 0, started, None, step=0)
            done = CallRecord(key=key, tool="tool", state="done", document=text(DONE_BYTES))
            await store.claim_call(run_id, 0, done, started)
            count += 1
        return count

    counts = await asyncio.gather(*(caller() for _ in range(callers)))
    return sum(counts) / (time.perf_counter() - began)


def main() -> None:
    """Measure floor and store in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--directory", default=None, help="where the databases are made; the disk that is measured"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        floor = Floor(Path(directory) / "floor.db")
        store = SQLiteCheckpointStore(Path(directory) / "store.db")
        measured: dict[str, list[float]] = {}
        for _ in range(options.rounds):
            for what, in_thread in (("floor", False), ("floor off the loop", True)):
                rate = asyncio.run(floor.calls_per_second(options.seconds, in_thread=in_thread))
                measured.setdefault(what, []).append(rate)
            for callers in CALLERS:
                rate = asyncio.run(calls_per_second(store, callers, options.seconds))
                measured.setdefault(f"store, {callers} callers", []).append(rate)
        base = statistics.median(measured["floor"])
        print("WAL, synchronous=FULL on both sides; a call is two commits or claims")
        for what, rates in measured.items():
            rate = statistics.median(rates)
            print(f"{what:<20} {2 * rate:>9,.0f} claims/s  {rate / base:>6.2f} x floor")


if __name__ == "__main__":
    main()
