"""What the ledger tests share: worker processes simulated on one store, and one road through a call."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_adapter import ToolPolicy
from agent_adapter.exec.checkpoints import (
    CallRecord,
    Checkpoint,
    DurableStore,
    OwnerState,
    SQLiteCheckpointStore,
    StoredCheckpoint,
)
from agent_adapter.exec.integration import (
    Asked,
    Attempt,
    CallId,
    ClaimLost,
    Ledger,
    Question,
    Replay,
)

Body = Callable[[Attempt], Awaitable[Any]]


class Seat:
    """A store as one of several worker processes sees it; whether a process lives is what the test says."""

    def __init__(self, store: DurableStore, name: str, states: dict[str, OwnerState]) -> None:
        self.store = store
        self._name = name
        self._states = states

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        await self.store.save(run_id, step, checkpoint)

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        return await self.store.latest(run_id)

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        await self.store.record_call(run_id, segment, call)

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        return await self.store.calls(run_id, segment)

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        return await self.store.list_unfinished(name=name, limit=limit)

    async def delete(self, run_id: str) -> bool:
        return await self.store.delete(run_id)

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        return await self.store.claim_call(run_id, segment, call, seen, step=step)

    async def position(self, run_id: str) -> tuple[int, int] | None:
        return await self.store.position(run_id)

    def embedded_key(self) -> bytes:
        return self.store.embedded_key()

    def owner(self) -> str:
        return self._name

    def liveness(self, owner: str) -> OwnerState:
        return self._states.get(owner, "unknown")


class LookupSeat(Seat):
    """The same over a store that finds one call without reading the log around it."""

    async def find_call(self, run_id: str, key: str) -> tuple[int, CallRecord | None] | None:
        return await self.store.find_call(run_id, key)


class Fleet:
    """Worker processes on one store, simulated in this one, and the tool that they call.

    Attributes:
        seat: how a process sees the store, to be changed by a test.
        ran: the idempotency key of every time that the tool's body ran.
        states: what everybody knows of each process.
    """

    def __init__(self, store: DurableStore) -> None:
        self.store = store
        # Both ways to read, each on one of the stores.
        self.seat = LookupSeat if isinstance(store, SQLiteCheckpointStore) else Seat
        self.states: dict[str, OwnerState] = {}
        self.ran: list[str] = []
        self._ledgers: dict[str, Ledger] = {}

    def __getitem__(self, name: str) -> Ledger:
        """The process of that name, which does not wait for others."""
        if name not in self._ledgers:
            self._ledgers[name] = self.ledger(name)
        return self._ledgers[name]

    def ledger(self, name: str, seat: type[Seat] | None = None, **settings: Any) -> Ledger:
        """The process of that name with other settings, or with another view of the store."""
        self.states.setdefault(name, "alive")
        settings = {"claim_wait_s": 0.0, **settings}
        place = (seat or self.seat)(self.store, name, self.states)
        self._ledgers[name] = Ledger(place, **settings)
        return self._ledgers[name]

    async def charge(self, attempt: Attempt) -> Any:
        """The tool: its effect, and its result."""
        self.ran.append(attempt.idempotency_key)
        return {"receipt": len(self.ran)}

    async def run(self, name: str, call: CallId, body: Body | None = None, **entering: Any) -> Any:
        """The call's outcome as that process gets it: replayed, or what its body returned, recorded."""
        entering = {"policy": ToolPolicy(), **entering}
        while True:
            entered = await self[name].enter(call, **entering)
            if isinstance(entered, Replay):
                return entered.outcome
            try:
                await entered.start(call.arguments)
                outcome = await (body or self.charge)(entered)
                await entered.finish(outcome)
            except ClaimLost:
                continue
            else:
                return outcome
            finally:
                entered.land()

    async def begin(self, name: str, call: CallId, **entering: Any) -> Attempt:
        """An attempt of that process whose body has just run; nothing is recorded but its start."""
        attempt = await self[name].enter(call, **{"policy": ToolPolicy(), **entering})
        assert isinstance(attempt, Attempt)
        await attempt.start(call.arguments)
        await self.charge(attempt)
        return attempt

    async def die(self, name: str, call: CallId, **entering: Any) -> Attempt:
        """The same, and the process ends there."""
        attempt = await self.begin(name, call, **entering)
        self.states[name] = "dead"
        return attempt

    async def ask(self, name: str, call: CallId, **entering: Any) -> Question:
        """What that process asks when it comes to the call."""
        with pytest.raises(Asked) as asked:
            await self.run(name, call, **entering)
        return asked.value.question

    async def hold(self, name: str, call: CallId, **entering: Any) -> Callable[[], Awaitable[Any]]:
        """Stop that process on its way through the call, before it first writes; returns what lets it go on."""
        reached, opened = asyncio.Event(), asyncio.Event()

        class Held(self.seat):
            async def claim_call(self, *arguments: Any, **named: Any) -> CallRecord:
                reached.set()
                await opened.wait()
                return await super().claim_call(*arguments, **named)

        self.ledger(name, Held)
        working = asyncio.create_task(self.run(name, call, **entering))
        await reached.wait()

        async def let_go() -> Any:
            opened.set()
            return await working

        return let_go

    async def records(self, call: CallId) -> dict[str, CallRecord]:
        """Every record of the call's run, by key."""
        position = await self.store.position(call.run)
        if position is None:
            return {}
        return {record.key: record for record in await self.store.calls(call.run, position[1])}


@pytest.fixture
def fleet(store: DurableStore) -> Fleet:
    return Fleet(store)


@pytest.fixture
def call() -> CallId:
    """A call of the only message of a run of its own."""
    return CallId(
        run=f"run-{secrets.token_hex(4)}",
        name="thread",
        key="k1",
        call_id="call_1",
        tool="charge",
        digest="d1",
        scope="visit",
        arguments={"amount": 5},
    )
