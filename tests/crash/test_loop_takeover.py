"""Takeover races: a worker and those that take its run over, interleaved at random at every store operation.

The workers share one event loop and stand for processes: each has its own view of the store, which yields at random, naps,
loses answers, and at a random operation (or in a body) ends its worker for good.
"""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_adapter import (
    CheckpointConflict,
    CheckpointNotFound,
    DoubtfulCall,
    RecoveryNeedsDecision,
    Tool,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import Happened, Rerun, ToolLoopResult
from agent_adapter.exec.checkpoints import (
    CallRecord,
    MemoryCheckpointStore,
    OwnerState,
    SQLiteCheckpointStore,
    idempotency_key,
)
from agent_adapter.testing.models import ScriptedModel

FULL = int(os.environ.get("CRASH_FULL") or 0)
MEMORY_RUNS = 450 * max(FULL, 1)
SQLITE_RUNS = 50 * max(FULL, 1)
AT_ONCE = 50
RUN = "run"
WISHES = {"a": 1, "b": 2, "charge": 1, "safe": 1}
HISTORY = ["go", "", "done a", "done b", "done b", "", "done charge", "done safe", "end"]


class Crash(BaseException):
    """The worker's process ends here."""


class World:
    """One run, and what really happened in it."""

    def __init__(self, store: Any, seed: str) -> None:
        self.store = store
        self.seed = seed
        self.chance = random.Random(seed)  # noqa: S311 - the same interleavings every time
        self.effects: Counter[tuple[str, str]] = Counter()
        self.dead: set[str] = set()
        # Whatever was ever said about calls in doubt, by question.
        self.said: dict[str, Happened | Rerun] = {}
        # How many of the workers die; where none does, all of them go on at the same time.
        self.harm = self.chance.choice((0.0, 0.5, 0.9))
        # In some runs nobody can tell that a worker died.
        self.blind = self.chance.random() < 0.02

    async def yields(self) -> None:
        """Let others go first, up to a few times."""
        for _ in range(self.chance.choice((0, 0, 1, 2, 5, 9))):
            await asyncio.sleep(0)


def _passing(name: str) -> Any:
    async def method(self: "View", *given: Any, **more: Any) -> Any:
        return await self.operate(name, *given, **more)

    return method


class View:
    """One worker's view of the store; it is `Liveness`, `CallLookup` and `EmbeddedKey` too."""

    def __init__(self, world: World, name: str, *, harmed: bool = True) -> None:
        chance = world.chance
        self._world = world
        self._store: Any = world.store
        self._name = name
        self._passed = 0
        self._ended = False
        self._ends_at = chance.randint(1, 45) if harmed and chance.random() < world.harm else 0
        self._naps_at = chance.randint(1, 45) if harmed and chance.random() < 0.4 else 0

    async def pass_by(self) -> None:
        """A place where the worker yields, may nap, and may end."""
        if self._ended:
            raise Crash
        self._passed += 1
        if self._passed == self._ends_at:
            self._ended = True
            raise Crash
        if self._passed == self._naps_at:
            await asyncio.sleep(self._world.chance.uniform(0, 0.2))
        await self._world.yields()

    async def operate(self, name: str, *given: Any, **more: Any) -> Any:
        """The store's own answer, or the end of the worker before the operation or after it."""
        await self.pass_by()
        answer = await getattr(self._store, name)(*given, **more)
        await self.pass_by()
        return answer

    save = _passing("save")
    latest = _passing("latest")
    calls = _passing("calls")
    claim_call = _passing("claim_call")
    find_call = _passing("find_call")
    position = _passing("position")
    record_call = list_unfinished = delete = _passing("never used by a loop")

    def embedded_key(self) -> bytes:
        return self._store.embedded_key()

    def owner(self) -> str:
        # Runs of many worlds share this process, and a token names one worker among all of them.
        return f"{self._world.seed} {self._name}"

    def liveness(self, owner: str) -> OwnerState:
        if owner.rpartition(" ")[2] not in self._world.dead:
            return "alive"
        return "unknown" if self._world.blind else "dead"


class Worker:
    """One process that starts the run or takes it up."""

    def __init__(self, world: World, name: str, *, harmed: bool = True) -> None:
        self._world = world
        self._name = name
        self._view = View(world, name, harmed=harmed)

    async def start(self) -> str:
        """How `run_tool_loop` ended."""
        given: Any = {"checkpoints": self._view, "run_id": RUN}
        return await self._ended(run_tool_loop(self._model(), self._tools(), "go", **given), [])

    async def recover(self, *, everyone_is_gone: bool = False) -> str:
        """How `recover_tool_loop` ended, once everything was said that can be known of dead workers."""
        ended = ""
        for _ in range(4):
            found: list[DoubtfulCall] = []
            # Whatever was ever said is said again: it is about one attempt, and fits no other.
            given: Any = {"checkpoints": self._view, "decisions": dict(self._world.said)}
            work = recover_tool_loop(self._model(), self._tools(), RUN, **given)
            ended = await self._ended(work, found)
            known = [call for call in found if call.owner_known_dead or everyone_is_gone]
            if not known:
                break
            self._world.said |= {call.question_id: self._truth(call) for call in known}
        return ended

    async def _ended(self, work: Awaitable[ToolLoopResult], doubts: list[DoubtfulCall]) -> str:
        try:
            return (await work).status
        except Crash:
            return "crashed"
        except RecoveryNeedsDecision as asked:
            doubts += asked.calls
            return "asked"
        except CheckpointNotFound:
            return "nothing"
        except CheckpointConflict:
            return "cut off"

    def _truth(self, call: DoubtfulCall) -> Happened | Rerun:
        order = call.arguments["order"]
        happened = self._world.effects[order, str(call.idempotency_key)]
        return Happened(f"done {order}") if happened else Rerun()

    def _tools(self) -> list[Tool]:
        async def body(order: str) -> str:
            key = str(idempotency_key())
            await self._view.pass_by()
            self._world.effects[order, key] += 1
            await self._view.pass_by()
            return f"done {order}"

        return [tool(name="charge")(body), tool(name="safe", idempotent=True)(body)]

    def _model(self) -> ScriptedModel:
        async def thinks(reply: Any) -> Any:
            await self._view.pass_by()
            return reply

        first = [ToolCall(f"{n}", "charge", {"order": order}) for n, order in enumerate("abb")]
        second = [ToolCall(order, order, {"order": order}) for order in ("charge", "safe")]
        replies = [lambda _, reply=reply: thinks(reply) for reply in (first, second, "end")]
        return ScriptedModel(replies, by_history=True)


async def interleaved(store: Any, seed: str) -> list[str]:
    """What went wrong in one run of a worker, up to three others that take it over, and a last one after all of them."""
    world = World(store, seed)

    async def lives(name: str, work: Callable[[Worker], Awaitable[str]], late: int) -> str:
        for _ in range(late):
            await asyncio.sleep(0)
        try:
            return await work(Worker(world, name))
        finally:
            world.dead.add(name)

    others = world.chance.randint(1, 3)
    late = [world.chance.randint(0, 150) for _ in range(others)]
    tasks = [asyncio.create_task(lives("w", Worker.start, 0))]
    tasks += [asyncio.create_task(lives(f"r{n}", Worker.recover, late[n])) for n in range(others)]
    if cancels := world.chance.random() < 0.3:
        for _ in range(world.chance.randint(1, 150)):
            await asyncio.sleep(0)
        world.chance.choice(tasks).cancel()
    await asyncio.wait(tasks)
    bad = [repr(task.exception()) for task in tasks if not task.cancelled() and task.exception()]
    endings = ["cancelled" if task.cancelled() else task.result() for task in tasks if not bad]
    # Where no worker dies, none of them keeps the others from completing.
    least = 0 if cancels or world.harm else 1
    if not bad and not least <= endings.count("done") <= 1:
        bad.append(f"not one worker completed: {endings}")
    last = Worker(world, "last", harmed=False)
    ended = await last.recover(everyone_is_gone=True)
    if ended == "nothing":
        ended = await last.start()
    stored = await store.latest(RUN)
    if stored is None or stored.checkpoint.status != "done":
        bad.append(f"the run did not end: {endings}, and then {ended}")
    else:
        history = [json.loads(chunk) for chunk in stored.checkpoint.history]
        said = [message["content"] for chunk in history for message in chunk]
        bad += [] if said == HISTORY else [f"history: {said}"]
    bad += [
        f"{order} took effect {count} times"
        for (order, _), count in world.effects.items()
        if count > 1 and order != "safe"
    ]
    wishes = Counter(order for order, _ in world.effects)
    bad += [] if wishes == Counter(WISHES) else [f"took effect: {dict(wishes)}"]
    return [f"seed {seed}: {why}" for why in bad]


async def all_of(make: Callable[[int], Any], runs: int, name: str) -> list[str]:
    """What went wrong in so many runs, a few dozen at a time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(n: int) -> list[str]:
        async with places:
            return await interleaved(make(n), f"{name}-{n}")

    return [why for bad in await asyncio.gather(*map(one, range(runs))) for why in bad]


@pytest.mark.timeout(600 if FULL else 120)
async def test_a_body_never_runs_twice_however_workers_interleave() -> None:
    """Item 99: and in the end somebody completes the run, with nothing lost."""
    assert await all_of(lambda _: MemoryCheckpointStore(), MEMORY_RUNS, "memory") == []


@pytest.mark.timeout(600 if FULL else 120)
async def test_a_body_never_runs_twice_however_workers_interleave_on_sqlite(
    tmp_path: Path,
) -> None:
    """Item 99, on files."""
    made = lambda n: SQLiteCheckpointStore(tmp_path / f"{n}.db")  # noqa: E731
    assert await all_of(made, SQLITE_RUNS, "sqlite") == []


class Forgetful(MemoryCheckpointStore):
    """A store that says that a call has begun is stored, and does not store it."""

    async def claim_call(
        self, run_id: str, segment: int, call: CallRecord, seen: Any, **_: Any
    ) -> CallRecord:
        del seen
        if call.state != "started":
            await self.record_call(run_id, segment, call)
        return call


async def test_on_a_store_that_forgets_claims_the_same_interleavings_run_bodies_twice() -> None:
    """The red control."""
    bad = await all_of(lambda _: Forgetful(), 100, "memory")
    assert any("took effect 2 times" in why for why in bad)
