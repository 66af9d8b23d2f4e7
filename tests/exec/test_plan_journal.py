"""Plans in a visit: entered again, finished steps replay and the others run (items 124, 130 and 156)."""

from decimal import Decimal
from typing import Any

import pytest

from agent_adapter import (
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    ToolCall,
    ToolUsageError,
    tool,
)
from agent_adapter.exec import Ref, Step
from agent_adapter.exec.integration import make_answer, make_journal, visit_scope


class Shop:
    """A plan of four steps, the third of which a person has to approve; what ran of it."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.down = True
        self.store = MemoryApprovalStore()

        @tool
        def price(item: str) -> Decimal:
            self.ran.append(f"price {item}")
            return Decimal("2.50")

        @tool
        def stock(item: str) -> int:
            self.ran.append(f"stock {item}")
            if self.down:
                raise ConnectionError("down")
            return 3

        @tool(confirm=True)
        def pay(amount: Decimal) -> str:
            self.ran.append(f"pay {amount}")
            return f"paid {amount}"

        @tool
        def ship(receipt: str) -> str:
            self.ran.append(f"ship {receipt}")
            return "on its way"

        self.executor = Executor(Registry([price, stock, pay, ship]), approvals=self)
        self.plan = [
            Step("price", "price", {"item": "pen"}),
            Step("stock", "stock", {"item": "pen"}),
            Step("pay", "pay", {"amount": Ref("price")}),
            Step("ship", "ship", {"receipt": Ref("pay")}),
        ]

    async def request(self, request, ctx):
        await self.store.park(request)

    async def visit(self, data: Any = None, answer: Any = None, **options: Any):
        """The statuses of the plan's steps, and the journal's data afterwards."""
        journal = make_journal(data)
        with visit_scope(answer, journal):
            results = await self.executor.run_plan(self.plan, **options)
        journal.close()
        return results, journal.data()


async def test_a_plan_that_is_entered_again_replays_what_finished_and_runs_the_rest():
    """Items 124 and 156: the values have their types, failures replay too."""
    shop = Shop()
    first, data = await shop.visit()
    assert [r.status for r in first.values()] == ["ok", "error", "pending", "cancelled"]
    assert sorted(shop.ran) == ["price pen", "stock pen"]
    shop.ran.clear()
    (request,) = await shop.store.list_pending()
    answer = make_answer([(request, ApprovalDecision(approved=True), True)])
    second, _ = await shop.visit(data, answer)
    assert [r.status for r in second.values()] == ["ok", "error", "ok", "ok"]
    assert [r.replayed for r in second.values()] == [True, True, False, False]
    assert second["price"].value == Decimal("2.50")
    assert shop.ran == ["pay 2.50", "ship paid 2.50"]


async def test_a_parked_step_that_is_met_again_is_the_same_request():
    """Item 114."""
    shop = Shop()
    first, data = await shop.visit()
    second, _ = await shop.visit(data)
    assert second["pay"].approval == first["pay"].approval
    assert len(await shop.store.list_pending()) == 1


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_finished_step_replays_whatever_order_the_steps_stand_in(concurrency):
    """Item 156: a step's identity is its id, not its turn."""
    shop = Shop()
    shop.down = False
    _, data = await shop.visit()
    shop.ran.clear()
    shop.plan = [*reversed(shop.plan[:2]), *shop.plan[2:]]
    results, _ = await shop.visit(data, concurrency=concurrency)
    assert [name for name, r in results.items() if r.replayed] == ["stock", "price"]
    assert shop.ran == []


async def test_equal_calls_of_two_steps_are_two_wishes_and_each_replays():
    """Item 126: each by its id, whichever of them are there the next time."""
    shop = Shop()
    shop.plan = [Step(name, "price", {"item": "pen"}) for name in "ab"]
    _, data = await shop.visit()
    assert shop.ran == ["price pen"] * 2
    shop.plan = [Step(name, "price", {"item": "pen"}) for name in "cba"]
    results, _ = await shop.visit(data)
    assert [(name, r.replayed) for name, r in results.items()] == [
        ("c", False),
        ("b", True),
        ("a", True),
    ]
    assert shop.ran == ["price pen"] * 3


async def test_each_plan_of_a_visit_keeps_apart_from_the_others_and_from_plain_calls():
    """Item 130."""
    shop = Shop()
    plans = [[Step("a", "price", {"item": item})] for item in ("pen", "pen", "cup")]

    async def visit(data):
        journal = make_journal(data)
        with visit_scope(None, journal):
            await shop.executor.run("price", {"item": "pen"})
            for plan in plans:
                await shop.executor.run_plan(plan)
        return journal.data()

    data = await visit(None)
    assert shop.ran == ["price pen"] * 3 + ["price cup"]
    assert sorted(key.rpartition(":")[2] for key in data["calls"]) == ["0", "@a.0", "@a.0", "@a.1"]
    assert await visit(data) == data
    assert len(shop.ran) == 4


async def test_a_step_with_other_arguments_runs():
    """Item 127."""
    shop = Shop()
    shop.plan = shop.plan[:1]
    _, data = await shop.visit()
    shop.plan = [Step("price", "price", {"item": "cup"})]
    results, _ = await shop.visit(data)
    assert (results["price"].replayed, shop.ran) == (False, ["price pen", "price cup"])


async def test_a_plan_inside_a_tool_that_is_entered_again_replays_its_finished_steps():
    """Item 124."""
    shop = Shop()

    @tool
    async def order() -> list[str]:
        results = await shop.executor.run_plan(shop.plan)
        return [result.status for result in results.values()]

    async def visit(data, answer):
        journal = make_journal(data)
        with visit_scope(answer, journal):
            return await shop.executor.run_call(
                ToolCall("c", "order"), registry=Registry([order])
            ), journal

    first, journal = await visit(None, None)
    assert (first.status, sorted(shop.ran)) == ("pending", ["price pen", "stock pen"])
    shop.ran.clear()
    (request,) = await shop.store.list_pending()
    answer = make_answer([(request, ApprovalDecision(approved=True), True)])
    second, _ = await visit(journal.data(), answer)
    assert second.value == ["ok", "error", "ok", "ok"]
    assert shop.ran == ["pay 2.50", "ship paid 2.50"]


async def test_a_step_that_ran_and_cannot_be_replayed_is_not_run_again():
    """Item 134."""
    ran = []

    @tool
    def odd() -> object:
        ran.append(1)
        return object()

    async def visit(data):
        journal = make_journal(data)
        with visit_scope(None, journal):
            await Executor().run_plan([Step("a", odd)])
        return journal.data()

    data = await visit(None)
    with pytest.raises(ToolUsageError, match="already ran"):
        await visit(data)
    assert ran == [1]
