"""Edited arguments: validated, asked about again, and then exactly these run (item 27)."""

from typing import Any

import pytest

from agent_adapter import (
    ApprovalConflict,
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    ToolCall,
    tool,
)
from agent_adapter.exec.integration import make_journal, visit_scope
from agent_adapter.policies import Deny, Replace


def edited(**arguments: Any) -> ApprovalDecision:
    return ApprovalDecision(approved=True, edits=arguments)


class Bench:
    """A tool `pay` that needs approval; the port answers with this decision."""

    def __init__(self, decision: ApprovalDecision, *guards: Any) -> None:
        self.decision = decision
        self.ran: list[int] = []
        self.slots: list[Any] = []

        @tool(confirm=True)
        def pay(amount: int) -> str:
            self.ran.append(amount)
            return f"paid {amount}"

        self.executor = Executor(Registry([pay]), approvals=self, guards=guards)

    async def request(self, request, ctx):
        return self.decision

    async def started(self, slot):
        self.slots.append(slot)

    async def settle(self, slot, result):
        pass

    async def call(self):
        with visit_scope(None, make_journal(observer=self)):
            return await self.executor.run_call(ToolCall("c", "pay", {"amount": 5}))


async def test_the_edited_arguments_run_converted_like_any_others():
    bench = Bench(edited(amount="3"))
    assert ((await bench.call()).value, bench.ran) == ("paid 3", [3])
    (slot,) = bench.slots
    assert (slot.arguments, slot.given) == ({"amount": 5}, {"amount": 3})
    assert slot.decision is bench.decision


@pytest.mark.parametrize("edits", [{"amount": "much"}, {"amount": 1, "to": "eve"}, {}], ids=str)
async def test_edits_that_do_not_fit_run_nothing(edits):
    """Item 27."""
    bench = Bench(edited(**edits))
    result = await bench.call()
    assert (result.status, result.error.kind, bench.ran) == ("error", "invalid", [])


def at_most_four(call, ctx):
    return Deny("too much") if call.arguments["amount"] > 5 else None


async def test_guards_have_their_say_about_edited_arguments():
    bench = Bench(edited(amount=100), at_most_four)
    result = await bench.call()
    assert (result.status, result.error.message, bench.ran) == ("denied", "too much", [])


async def test_a_guard_cannot_put_other_arguments_in_place_of_approved_ones():
    bench = Bench(
        edited(amount=3), lambda call, ctx: Replace({"amount": call.arguments["amount"] + 1})
    )
    result = await bench.call()
    assert (result.status, bench.ran) == ("denied", [])
    assert "a guard changes the arguments that were approved" in result.error.message


async def test_a_guard_that_leaves_them_as_they_are_lets_them_pass():
    bench = Bench(edited(amount=3), lambda call, ctx: Replace(dict(call.arguments)))
    assert (await bench.call()).value == "paid 3"


async def test_edits_that_do_not_fit_leave_the_decision_unused():
    store = MemoryApprovalStore()

    class Port(Bench):
        async def request(self, request, ctx):
            await store.park(request)
            self.id = request.id
            return (await store.decide(request.id, self.decision)).decision

    port = Port(edited(amount="much"))
    port.store = store
    assert (await port.call()).error.kind == "invalid"
    assert (await store.get(port.id)).consumer is None


@pytest.mark.parametrize("consumer", ["somebody else"])
async def test_a_decision_that_another_call_used_escapes_and_nothing_runs(consumer):
    """Item 116."""
    store = MemoryApprovalStore()

    class Port(Bench):
        async def request(self, request, ctx):
            await store.park(request)
            stored = await store.decide(request.id, self.decision)
            await store.consume(request.id, consumer)
            return stored.decision

    port = Port(ApprovalDecision(approved=True))
    port.store = store
    with pytest.raises(ApprovalConflict):
        await port.call()
    assert port.ran == []


async def test_a_decision_that_is_not_the_stored_one_escapes_and_nothing_runs():
    store = MemoryApprovalStore()

    class Port(Bench):
        async def request(self, request, ctx):
            await store.park(request)
            await store.decide(request.id, edited(amount=1))
            return edited(amount=1000)

    port = Port(edited())
    port.store = store
    with pytest.raises(ApprovalConflict):
        await port.call()
    assert port.ran == []


async def test_a_store_that_fails_when_a_decision_is_used_up_runs_nothing():
    """Item 11: fail closed."""

    class Broken(MemoryApprovalStore):
        async def consume(self, request_id, consumer):
            raise OSError("down")

    port = Bench(ApprovalDecision(approved=True))
    port.store = Broken()
    with pytest.raises(OSError, match="down"):
        await port.call()
    assert port.ran == []
