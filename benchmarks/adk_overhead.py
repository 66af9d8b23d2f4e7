"""What our plugin adds to a Google ADK app: Runner on SqliteSessionService, bare and durable, and whether it grows.

    python benchmarks/adk_overhead.py [--turns 300] [--rounds 2] [--kinds protected idempotent read-only] [--directory DIR]

Work: a scripted model with no latency, turns of one call with a 2 kB result. The runs take turns: each is stopped in its
model while the others have theirs, so all see the same machine. First one request of N turns; then N requests of one turn in
one session. Both sides are safe against a power cut: ADK's database has SQLite's own synchronous=FULL with a rollback
journal, and a connection per event; ours has synchronous=FULL with WAL. Goal: at most 1.15 x of bare, and a difference that
does not grow. Waiting for the disk depends on whoever else uses it, so the processor's time stands beside the clock's; the
garbage of all sides is collected between their turns.
"""

import argparse
import asyncio
import gc
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.adk.agents import Agent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from agent_adapter.policies import ToolPolicy
from agent_adapter_adk import DurableTools

KINDS = {
    "bare": None,
    "protected": ToolPolicy(),
    "idempotent": ToolPolicy(idempotent=True),
    "read-only": ToolPolicy(read_only=True),
}
RESULT = "r" * 2000
WINDOW = 10
WHERE: Any = {"user_id": "ada", "session_id": "s"}


async def look_up(n: int) -> str:
    """Look something up."""
    return RESULT


class Took(NamedTuple):
    """Milliseconds."""

    clock: float
    processor: float


class Turns:
    """The right to run, handed round among the sides; and what each of a side's turns took."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._order = list(kinds)
        self._may = {kind: asyncio.Event() for kind in kinds}
        self._began = dict.fromkeys(kinds, (0.0, 0.0))
        self.took: dict[str, list[Took]] = {kind: [] for kind in kinds}

    async def hand_on(self, kind: str) -> None:
        """Note the turn that ends here, and wait for the next one."""
        clock, processor = self._began[kind]
        took = Took((time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000)
        self.took[kind].append(took)
        self._next(kind).set()
        await self._may[kind].wait()
        self._may[kind].clear()
        if kind == "bare" and len(self.took[kind]) % WINDOW == 0:
            gc.collect()
        self._began[kind] = (time.perf_counter(), time.process_time())

    def leave(self, kind: str) -> None:
        """The side has no more turns."""
        following = self._next(kind)
        self._order.remove(kind)
        following.set()

    def _next(self, kind: str) -> asyncio.Event:
        return self._may[self._order[(self._order.index(kind) + 1) % len(self._order)]]


class Scripted(BaseLlm):
    """Asks for one call a turn, and ends after so many."""

    side: Any
    calls: int

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next reply."""
        del stream, llm_request
        part = types.Part(text="done")
        if self.side.asked % (self.calls + 1) < self.calls:
            args = {"n": self.side.asked}
            call = types.FunctionCall(name="look_up", args=args, id=f"c{self.side.asked}")
            part = types.Part(function_call=call)
            await self.side.turn()
        self.side.asked += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Side:
    """One of the apps that are compared.

    Args:
        kind: a key of `KINDS`.
        folder: for its databases.
        turns: whose turn it is.
        calls: how many calls a request makes.
    """

    def __init__(self, kind: str, folder: Path, turns: Turns, calls: int) -> None:
        self.asked = 0
        self._kind = kind
        self._turns = turns
        policy = KINDS[kind]
        plugins = []
        if policy is not None:
            durable = DurableTools(folder / f"{kind}-runs.db", policies={"look_up": policy})
            plugins.append(durable.plugin())
        model = Scripted(model="scripted", side=self, calls=calls)
        app = App(
            name="bench",
            root_agent=Agent(name="clerk", model=model, tools=[look_up]),
            plugins=plugins,
            resumability_config=ResumabilityConfig(is_resumable=True),
        )
        self._sessions = SqliteSessionService(str(folder / f"{kind}-sessions.db"))
        self._runner = Runner(app=app, session_service=self._sessions)

    async def turn(self) -> None:
        """Wait for this side's turn."""
        await self._turns.hand_on(self._kind)

    async def serve(self, requests: int) -> None:
        """All of its requests."""
        await self._sessions.create_session(app_name="bench", **WHERE)
        for _ in range(requests):
            message = types.Content(role="user", parts=[types.Part(text="go")])
            async for _ in self._runner.run_async(**WHERE, new_message=message):
                pass
        self._turns.leave(self._kind)
        await self._runner.close()


async def compare(
    kinds: Sequence[str], requests: int, calls: int, folder: Path
) -> Mapping[str, list[Took]]:
    """Every turn of every side; the first, which has only a beginning, is left out."""
    turns = Turns(kinds)
    sides = [Side(kind, folder, turns, calls) for kind in kinds]
    async with asyncio.TaskGroup() as group:
        for side in sides:
            group.create_task(side.serve(requests))
    return {kind: took[1:] for kind, took in turns.took.items()}


def show(rounds: Sequence[Mapping[str, list[Took]]]) -> None:
    """Print medians of the first turns, of some at a third, and of the last ones."""
    last = min(len(took) for took in rounds[0].values())
    others = [kind for kind in rounds[0] if kind != "bare"]
    first: dict[str, Took] = {}
    print(f"{'turns':>9}{'':<12}{'clock':>10}{'processor':>14}")
    for start in (0, last // 3 - WINDOW, last - WINDOW):
        ms = {kind: _median(rounds, kind, start) for kind in rounds[0]}
        bare = ms["bare"]
        label = f"{start + 1}-{start + WINDOW}"
        print(f"{label:>9}  {'bare':<10}{bare.clock:>10.2f}{bare.processor:>14.2f}")
        for kind in others:
            more = Took(ms[kind].clock - bare.clock, ms[kind].processor - bare.processor)
            first.setdefault(kind, more)
            grown = Took(more.clock - first[kind].clock, more.processor - first[kind].processor)
            print(
                f"{'':>9}  {kind:<10}{more.clock:>+10.2f}{more.processor:>+14.2f}"
                f"   {ms[kind].clock / bare.clock:.2f} x of bare; grew by {grown.clock:+.2f} and {grown.processor:+.2f}"
            )


def _median(rounds: Sequence[Mapping[str, list[Took]]], kind: str, start: int) -> Took:
    took = [each for run in rounds for each in run[kind][start : start + WINDOW]]
    return Took(*map(statistics.median, zip(*took, strict=True)))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS)[1:], default=["protected"])
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    gc.disable()
    print("ADK: rollback journal, synchronous=FULL (SQLite's default); ours: WAL, synchronous=FULL")
    shapes = [
        (f"one request of {given.turns} turns", 1, given.turns + 1),
        (f"{given.turns} requests of one turn in one session", given.turns + 1, 1),
    ]
    for what, requests, calls in shapes:
        rounds = []
        for _ in range(given.rounds):
            with tempfile.TemporaryDirectory(dir=given.directory) as folder:
                rounds.append(
                    asyncio.run(compare(["bare", *given.kinds], requests, calls, Path(folder)))
                )
        print(f"\n{what}: median ms per turn, {given.rounds} rounds")
        show(rounds)


if __name__ == "__main__":
    main()
