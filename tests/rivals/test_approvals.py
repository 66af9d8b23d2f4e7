"""What other products get wrong about one approval: it is lost, burned, forged, swallowed, or given by mistake."""

import asyncio
import json
import sqlite3
import zlib
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.rivals.processes import Workers
from tests.rivals.shop import CONSUMED, NO, RUN, YES, Shop, ask, play

from agent_adapter import (
    ApprovalDecision,
    ApprovalRequest,
    CheckpointConflict,
    CheckpointStoreCorrupt,
    Executor,
    MemoryApprovalStore,
    RecoveryNeedsDecision,
    Registry,
    RunContext,
    SQLiteApprovalStore,
    StoreApprovals,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import Happened, agent_tool

ONE = ([ask("pay", 5)], "done")


class AwayStore(MemoryApprovalStore):
    """Passes everything on, but a decision is used up and nobody hears of it."""

    def __init__(self, store: SQLiteApprovalStore) -> None:
        super().__init__()
        self._store = store
        self.park, self.get, self.decide = store.park, store.get, store.decide  # type: ignore[method-assign]

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        await self._store.consume(request_id, consumer)
        raise OSError("away")


class Away(StoreApprovals):
    """A port whose store is away, for a request or for the use of its decision."""

    def __init__(self, store: SQLiteApprovalStore, fails_at: str) -> None:
        super().__init__(AwayStore(store) if fails_at == "consume" else store)
        self._fails_at = fails_at

    async def request(self, request: ApprovalRequest, ctx: RunContext) -> ApprovalDecision | None:
        if self._fails_at == "request":
            raise OSError("away")
        return await super().request(request, ctx)


async def test_an_approval_survives_a_kill_between_its_use_and_the_tool(
    shop: Shop, workers: Workers
):
    """W04: the run is not stuck, nobody is asked again, and the tool runs once."""
    await shop.run(play(*ONE), [shop.pay])
    await shop.decide(YES)
    workers.killed("pay", "recover", CONSUMED)
    assert (shop.effects, await shop.store.list_unfinished()) == ([], [RUN])
    result = await shop.recover(play(*ONE), [shop.pay])
    assert (result.status, shop.effects) == ("done", ["pay 5"])


@pytest.mark.parametrize("fails_at", ["request", "consume"])
async def test_an_approval_survives_a_failure_of_the_approval_store(shop: Shop, fails_at: str):
    """W04: somebody said yes, the store is away for a moment: nothing is recorded in its place, and later it counts."""
    await shop.run(play(*ONE), [shop.pay])
    await shop.decide(YES)
    away = Executor(approvals=Away(shop.approvals, fails_at))
    with pytest.raises(OSError, match="away"):
        await shop.recover(play(*ONE), [shop.pay], executor=away)
    assert (await shop.status(), shop.effects) == ("running", [])
    result = await shop.recover(play(*ONE), [shop.pay])
    assert (result.status, shop.effects) == ("done", ["pay 5"])


async def test_nobody_denied_what_nobody_could_be_asked(shop: Shop):
    """W04: the store is away when the call has to wait: the run can be recovered, and then somebody is asked."""
    away = Executor(approvals=Away(shop.approvals, "request"))
    with pytest.raises(OSError, match="away"):
        await shop.run(play(*ONE), [shop.pay], executor=away)
    assert await shop.status() == "running"
    paused = await shop.recover(play(*ONE), [shop.pay])
    assert ([each.tool for each in paused.pending], shop.effects) == (["pay"], [])


async def test_an_approval_survives_a_kill_inside_the_tool(shop: Shop, workers: Workers):
    """W04: what is asked then is what became of the call, not for another approval."""
    await shop.run(play(*ONE), [shop.pay])
    await shop.decide(YES)
    workers.killed("pay", "recover", "pay 5")
    with pytest.raises(RecoveryNeedsDecision) as doubt:
        await shop.recover(play(*ONE), [shop.pay])
    (call,) = doubt.value.calls
    assert (call.tool, call.arguments, call.owner_known_dead) == ("pay", {"n": 5}, True)
    happened = {call.question_id: Happened("pay 5 ok")}
    result = await shop.recover(play(*ONE), [shop.pay], decisions=happened)
    assert (result.status, shop.effects) == ("done", ["pay 5"])


async def test_a_missing_tool_does_not_burn_the_approval(shop: Shop):
    """W05: it is refused by name, nothing is written, and with the tool the approval still counts."""
    await shop.run(play(*ONE), [shop.pay])
    await shop.decide(YES)
    before = await shop.position()
    with pytest.raises(ToolUsageError, match="'pay'"):
        await shop.recover(play(*ONE), [shop.charge])
    assert await shop.position() == before
    result = await shop.recover(play(*ONE), [shop.pay])
    assert (result.status, shop.effects) == ("done", ["pay 5"])


def forge(path: Path, table: str, old: str, new: str) -> None:
    """Replace text in the documents of a table; all of it when `old` is empty."""
    column = "chunk" if table == "agent_adapter_history" else "document"
    changed = 0
    with closing(sqlite3.connect(path)) as connection, connection:
        for row, kept in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():  # noqa: S608
            text = zlib.decompress(kept).decode() if isinstance(kept, bytes) else kept
            forged = text.replace(old, new) if old else new
            changed += forged != text
            update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"  # noqa: S608
            connection.execute(update, (forged, row))
    assert changed


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("agent_adapter_approvals", "12345", "99999"),
        ("agent_adapter_approvals", "ann", "eve"),
        ("agent_adapter_approvals", "", "{"),
        ("agent_adapter_records", "12345", "99999"),
        ("agent_adapter_records", "", "{"),
        ("agent_adapter_history", "12345", "99999"),
        ("agent_adapter_history", '"go"', '"no"'),
        ("agent_adapter_checkpoints", "", "{"),
    ],
)
async def test_what_somebody_edited_is_refused_and_nothing_is_paid(
    shop: Shop, path: Path, table: str, old: str, new: str
):
    """W11: the request, its decision, the call, the history and the head; each by name, broken JSON too."""
    script = ([ask("pay", 12345)], "done")
    await shop.run(play(*script), [shop.pay])
    await shop.decide(YES)
    forge(path, table, old, new)
    with pytest.raises(CheckpointStoreCorrupt):
        await shop.recover(play(*script), [shop.pay])
    assert shop.effects == []


async def test_an_edited_request_is_not_shown_as_if_it_were_the_old_one(shop: Shop, path: Path):
    """W11: the list of what waits refuses it, and takes it again as it was."""
    await shop.run(play([ask("pay", 12345)]), [shop.pay])
    forge(path, "agent_adapter_approvals", "12345", "99999")
    with pytest.raises(CheckpointStoreCorrupt):
        await shop.approvals.list_pending()
    forge(path, "agent_adapter_approvals", "99999", "12345")
    (request,) = await shop.approvals.list_pending()
    assert request.arguments == {"n": 12345}


async def test_a_tool_that_catches_every_exception_cannot_pay_before_the_approval(shop: Shop):
    """W18: its body is not entered."""

    @tool(confirm=True)
    async def careless(n: int) -> str:
        try:
            await shop.effect(f"careless {n}")
        except Exception:  # noqa: BLE001 - the fault under test
            await shop.effect("paid anyway")
        return "ok"

    paused = await shop.run(play([ask("careless", 5)]), [careless])
    assert (paused.status, shop.effects) == ("paused", [])


async def test_an_agent_that_swallows_the_pause_of_an_inner_call_pauses_all_the_same(shop: Shop):
    """W18: the run waits, and once approved the inner call runs once."""

    async def greedy(task: str, ctx: RunContext) -> str:
        try:
            return str(await shop.executor.run(shop.pay, {"n": 5}, ctx))
        except Exception:  # noqa: BLE001 - the fault under test
            return "paid anyway"

    tools = [agent_tool(greedy, name="helper", description="")]
    script = ([ask("helper", "t")], "done")
    paused = await shop.run(play(*script), tools)
    assert (paused.status, [each.tool for each in paused.pending]) == ("paused", ["pay"])
    await shop.decide(YES)
    result = await shop.recover(play(*script), tools)
    assert (result.status, shop.effects) == ("done", ["pay 5"])
    assert result.messages[2].text == "pay 5 ok"


async def test_code_behind_a_swallowed_pause_does_not_run(shop: Shop):
    """W18: the pause is none of the errors that a body may catch, so what comes after it has no effect."""

    async def greedy(task: str, ctx: RunContext) -> str:
        with suppress(Exception):
            await shop.executor.run(shop.pay, {"n": 5}, ctx)
        await shop.effect("paid anyway")
        return "paid"

    tools = [agent_tool(greedy, name="helper", description="")]
    paused = await shop.run(play([ask("helper", "t")], "done"), tools)
    assert (paused.status, shop.effects) == ("paused", [])


async def test_a_denied_call_never_runs_and_who_denied_it_is_kept(shop: Shop):
    """W23: the model is told that it was denied, by whom and why; so is whoever looks it up later."""
    paused = await shop.run(play(*ONE), [shop.pay])
    await shop.decide(NO)
    result = await shop.recover(play(*ONE), [shop.pay])
    assert (result.status, shop.effects) == ("done", [])
    assert [each.status for each in result.tool_results] == ["denied"]
    answer = result.messages[2]
    assert (answer.status, answer.text) == ("denied", "ToolDenied: denied by bob: too dear")
    stored = await shop.approvals.get(paused.pending[0].id)
    assert stored is not None
    assert stored.decision is not None
    assert (stored.decision.decided_by, stored.decision.reason) == ("bob", "too dear")


@pytest.mark.parametrize("value", [{}, {"approved": True}, None, "", "yes", 1, 0, []])
def test_nothing_but_true_approves(value: Any):
    """W30"""
    with pytest.raises(ToolUsageError):
        ApprovalDecision(approved=value)


@pytest.mark.parametrize("value", [None, {}, {"approved": True}, "yes", 1])
async def test_a_resume_that_does_not_say_what_was_decided_decides_nothing(shop: Shop, value: Any):
    """W30: the request still waits."""
    executor = Executor(Registry([shop.pay]), approvals=StoreApprovals(shop.approvals))
    parked = await executor.run_call(ask("pay", 5))
    assert parked.approval is not None
    with pytest.raises(ToolUsageError):
        await executor.resume(parked.approval, value)
    waiting = await shop.approvals.list_pending()
    assert ([each.id for each in waiting], shop.effects) == ([parked.approval], [])


@tool(name="pay", confirm=True)
async def other_pay(n: int, currency: str) -> str:
    raise AssertionError("another program's tool")


@pytest.mark.parametrize(
    ("tools", "given", "error"),
    [
        ("pay", {"stage": "support"}, CheckpointConflict),
        ("pay", {"output_schema": int}, CheckpointConflict),
        ("none", {}, ToolUsageError),
        ("other", {}, ToolUsageError),
    ],
    ids=["another name", "another schema", "without the tool", "a tool with other arguments"],
)
async def test_another_agent_cannot_take_the_run(shop: Shop, tools: str, given: Any, error: Any):
    """W31: it is told so, and nothing is written."""
    await shop.run(play(*ONE), [shop.pay])
    await shop.decide(YES)
    before = await shop.position()
    registry = {"pay": [shop.pay], "none": [], "other": [other_pay]}[tools]
    with pytest.raises(error):
        await shop.recover(play(*ONE), registry, **given)
    assert (await shop.position(), shop.effects) == (before, [])


def test_whoever_loses_the_race_for_a_decision_is_told_so_and_nothing_else(
    path: Path, workers: Workers
):
    """W19: four processes, thirty decisions: each has one winner, and no loser hears of locks."""
    count = 30

    async def decided() -> list[str]:
        shop = Shop(path)
        calls = [ask("pay", n) for n in range(count)]
        paused = await shop.run(play(calls), [shop.pay])
        await shop.decide(YES)
        return [request.id for request in paused.pending]

    ids = asyncio.run(decided())
    path.with_suffix(".ids").write_text(json.dumps(ids))
    said = workers.race("pay", "consume", 4)
    for request_id in ids:
        assert Counter(each[request_id] for each in said) == {"won": 1, "lost": 3}
