"""Approvals in a loop whose workers die: from the decision to the recorded end no write is a place where it is lost."""

from typing import Any

import pytest
from tests.exec.agents_kit import NO, Bench, Killed, agent, ask, play, said

from agent_adapter import (
    ApprovalDecision,
    ApprovalRequest,
    MemoryApprovalStore,
    RecoveryNeedsDecision,
    Tool,
)
from agent_adapter.approvals import StoredApproval
from agent_adapter.exec import Happened, Rerun, ToolLoopResult
from agent_adapter.exec.checkpoints import DurableStore

# More than any recovery here writes; the tests see to it that the last ones die of nothing.
WRITES = 12


class SharedApprovals(MemoryApprovalStore):
    """Approvals in which the worker's death is noticed too."""

    def __init__(self, store: DurableStore) -> None:
        super().__init__()
        self.asked: set[str] = set()
        self.bench = Bench(store, self)

    async def park(self, request: ApprovalRequest) -> StoredApproval:
        parking = super().park
        stored = await self.bench.worker.write(lambda: parking(request))
        self.asked.add(request.id)
        return stored

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        consuming = super().consume
        return await self.bench.worker.write(lambda: consuming(request_id, consumer))


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return SharedApprovals(store).bench


def tools_of(bench: Bench, where: str) -> tuple[list[Any], list[Tool]]:
    """The first reply and the tools: two calls that wait, in the loop itself or in agents."""
    calls = [ask("mail", to="a"), ask("mail", to="b")]
    if where == "loop":
        return calls, [bench.mail]
    model = play(calls[:1], "helped")
    helper = agent(model, bench.mail, name="helper", confirm=where == "approved agent")
    return [ask("helper", task="t"), calls[1]], [helper, bench.mail]


async def finish(bench: Bench, model: Any, tools: list[Tool]) -> ToolLoopResult:
    """The run's end; calls in doubt are answered with what really happened, what waits is approved."""
    decisions: dict[str, Any] = {}
    for _ in range(9):
        try:
            result = await bench.recover(model, tools, decisions=decisions)
        except RecoveryNeedsDecision as doubt:
            for call in doubt.calls:
                happened = ("mail", call.arguments["to"]) in bench.ran
                decisions[call.question_id] = Happened("mailed it") if happened else Rerun()
        else:
            if result.status == "done":
                return result
            await bench.decide(result.pending)
    raise AssertionError("it does not end")


@pytest.mark.parametrize("where", ["loop", "agent", "approved agent"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_worker_may_die_at_any_write_before_the_pause(
    store: DurableStore, where: str, after: bool
):
    """Item 115: whoever recovers parks the same requests, and each approved body runs once."""
    lives = await deaths(store, where, after=after, paused=False)
    assert len(lives) > 3


@pytest.mark.parametrize("where", ["loop", "agent", "approved agent"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_worker_may_die_at_any_write_after_the_decision(
    store: DurableStore, where: str, after: bool
):
    """Item 115: the decision is never lost, and the body never runs twice unasked."""
    lives = await deaths(store, where, after=after, paused=True)
    assert len(lives) > 3


async def deaths(store: DurableStore, where: str, *, after: bool, paused: bool) -> list[int]:
    """The writes at which a worker died; the one after them ended the run by itself."""
    died = []
    for write in range(1, 99):
        approvals = SharedApprovals(store)
        bench = approvals.bench
        await store.delete("run-1")
        first, tools = tools_of(bench, where)
        model = play(first, "done")
        if paused:
            await bench.decide((await bench.run(model, tools)).pending)
        bench.next_dies = (write, after)
        try:
            await (bench.recover if paused else bench.run)(model, tools)
        except Killed:
            died.append(write)
        if await store.latest("run-1") is None:
            continue
        ended = (await bench.step())[1] == "done"
        result = None if ended else await finish(bench, model, tools)
        assert sorted(bench.ran) == [("mail", "a"), ("mail", "b")], f"write {write}"
        assert result is None or said(result)[-1] == ("assistant", "done")
        assert len(approvals.asked) == (3 if where == "approved agent" else 2), f"write {write}"
        assert await bench.approvals.list_pending() == []
        if write not in died:
            return died
    raise AssertionError("no worker got through")


async def test_a_denial_is_not_lost_either(bench: Bench):
    """Item 115: at every write after it."""
    for write in range(1, WRITES):
        await bench.store.delete("run-1")
        model = play([ask("mail", to=str(write))], "done")
        paused = await bench.run(model, [bench.mail])
        await bench.decide(paused.pending, NO)
        bench.next_dies = (write, True)
        try:
            await bench.recover(model, [bench.mail])
        except Killed:
            if (await bench.step())[1] == "running":
                await bench.recover(model, [bench.mail])
        assert (bench.ran, (await bench.step())[1]) == ([], "done")
