"""How long it takes to come back to 1,000 finished calls: a durable loop recovered, and a visit's journal replayed.

    python benchmarks/replay.py [--calls 1 100 1000] [--rounds 7] [--directory DIR]

Work: one turn of so many finished calls with 2 kB results; the model that is asked next fails, so the same run can be
recovered again and again. The floor reads, checks (HMAC-SHA256) and parses the same records, which nobody can do
without. Goal: 1,000 calls in at most 50 ms, with as many reads of the store as one call takes.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import sqlite3
import statistics
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

from agent_adapter import (
    Executor,
    ModelError,
    Registry,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.exec.integration import JournalData, make_journal, visit_scope
from agent_adapter.testing.models import ScriptedModel

READS = ("latest", "position", "calls", "find_call")
WRITES = ("save", "claim_call", "record_call")
RUN = "run"


@tool
async def charge(n: int) -> str:
    """Must never happen twice."""
    return f'{{"row":{n},"note":"a row of a result"}},' * 45


def counting(store: SQLiteCheckpointStore) -> Counter[str]:
    """What the store is asked for from now on, by method."""
    asked: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(store, name)

        @wraps(method)
        def call(*given: Any, **named: Any) -> Any:
            asked[name] += 1
            return method(*given, **named)

        return call

    for name in READS + WRITES:
        setattr(store, name, counted(name))
    return asked


def calls_of(count: int) -> list[ToolCall]:
    """A turn of so many calls."""
    return [ToolCall(f"c{n}", charge.name, {"n": n}) for n in range(count)]


async def make_run(store: SQLiteCheckpointStore, count: int) -> None:
    """A stored run whose turn of so many calls is over."""
    model = ScriptedModel([calls_of(count), ModelError("gone")])
    with suppress(ModelError):
        await run_tool_loop(model, [charge], "go", checkpoints=store, run_id=RUN, concurrency=100)


async def recover(store: SQLiteCheckpointStore) -> float:
    """Milliseconds from the call to the moment at which the model is asked again, with every result in its request."""
    asked_at: list[float] = []

    def reply(_: Any) -> ModelError:
        asked_at.append(time.perf_counter())
        return ModelError("gone again")

    began = time.perf_counter()
    with suppress(ModelError):
        await recover_tool_loop(ScriptedModel([reply]), [charge], RUN, checkpoints=store)
    return (asked_at[0] - began) * 1000


def floor(path: Path) -> float:
    """Milliseconds to read, check and parse the records on a cached connection."""
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM agent_adapter_records").fetchone()
    began = time.perf_counter()
    for (packed,) in connection.execute("SELECT document FROM agent_adapter_records ORDER BY id"):
        text = packed if isinstance(packed, str) else zlib.decompress(packed).decode()
        hmac.digest(b"k" * 32, text.encode(), hashlib.sha256)
        json.loads(text[text.index("{") :])
    took = (time.perf_counter() - began) * 1000
    connection.close()
    return took


async def visit(
    executor: Executor, data: JournalData | None, count: int
) -> tuple[float, JournalData]:
    """Milliseconds of a visit with so many calls, and what a framework keeps of it."""
    began = time.perf_counter()
    journal = make_journal(data)
    with visit_scope(None, journal):
        results = await executor.run_many(calls_of(count))
    took = (time.perf_counter() - began) * 1000
    assert all(result.replayed == (data is not None) for result in results)  # noqa: S101
    return took, journal.data()


async def measure(folder: Path, counts: list[int], rounds: int) -> None:
    """Print one row per number of calls."""
    executor = Executor(Registry([charge]))
    print(
        f"{'calls':>5}  floor ms  recovered ms  x floor   calls/s  journal ms   calls/s  reads  writes"
    )
    for count in counts:
        path = folder / f"{count}.db"
        store = SQLiteCheckpointStore(path)
        await make_run(store, count)
        asked = counting(store)
        _, data = await visit(executor, None, count)
        times: list[tuple[float, float, float]] = []
        for _ in range(rounds + 1):
            asked.clear()
            recovered = await recover(store)
            replayed, _ = await visit(executor, data, count)
            times.append((floor(path), recovered, replayed))
        base, recovered, replayed = map(statistics.median, zip(*times[1:], strict=True))
        reads, writes = (sum(asked[name] for name in names) for names in (READS, WRITES))
        print(
            f"{count:>5}  {base:>8.1f}  {recovered:>12.1f}  {recovered / base:>7.1f}  {count / recovered * 1000:>8,.0f}"
            f"  {replayed:>10.1f}  {count / replayed * 1000:>8,.0f}  {reads:>5}  {writes:>6}"
        )


def main() -> None:
    """Read the options, measure in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", default=None, help="where the databases are made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        asyncio.run(measure(Path(folder), options.calls, options.rounds))


if __name__ == "__main__":
    main()
