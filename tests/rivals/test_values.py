"""What other products get wrong about values: they break a pause, or come back as something else after it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from tests.rivals.shop import YES, Shop, ask, play

from agent_adapter import Executor, NotSealable, RunContext, Tool, ToolCall, ToolUsageError, tool
from agent_adapter.exec import agent_tool
from agent_adapter.exec.integration import make_journal, visit_scope

WHEN = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)


class Money(BaseModel):
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Receipt:
    paid: Money
    at: datetime
    tags: frozenset[str]


RECEIPT = Receipt(Money(amount=Decimal("2.50"), currency="EUR"), WHEN, frozenset({"a", "b"}))


async def test_arguments_that_are_no_json_wait_for_a_person_and_come_back_as_they_were(shop: Shop):
    """W12: the pause does not break on them, and the tool runs once."""
    given: list[Any] = []

    @tool(confirm=True)
    async def pay(amount: Decimal, at: datetime) -> str:
        given.append((amount, at))
        return "paid"

    call = ToolCall("1", "pay", {"amount": "2.50", "at": WHEN.isoformat()})
    paused = await shop.run(play([call], "done"), [pay])
    assert (paused.status, given) == ("paused", [])
    await shop.decide(YES)
    assert (await shop.recover(play([call], "done"), [pay])).status == "done"
    assert given == [(Decimal("2.50"), WHEN)]
    assert [type(value) for value in given[0]] == [Decimal, datetime]


def returning(value: Any, returns: Any, ran: list[str]) -> Tool:
    """A tool that returns this."""

    async def body() -> Any:
        ran.append("made")
        return value

    return Tool(name="make", fn=body, returns=returns)


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        (RECEIPT, Receipt),
        ({1, 2}, set[int]),
        ([Decimal("0.10"), WHEN, (1, b"\x00")], Any),
        ({1: {"$set": [1]}}, Any),
    ],
    ids=["dataclass", "set", "mixed", "keys"],
)
async def test_a_tools_value_is_the_same_after_the_pause(shop: Shop, value: Any, returns: Any):
    """W12: of the same classes, so that the code that goes on with it does not break."""
    ran: list[str] = []
    got: list[Any] = []
    make = returning(value, returns, ran)

    async def work(task: str, ctx: RunContext) -> str:
        got.append(await shop.executor.run(make, {}, ctx))
        return str(await shop.executor.run(shop.pay, {"n": 5}, ctx))

    tools = [agent_tool(work, name="helper", description="")]
    script = ([ask("helper", "t")], "done")
    await shop.run(play(*script), tools)
    await shop.decide(YES)
    assert (await shop.recover(play(*script), tools)).status == "done"
    assert (got, [type(each) for each in got]) == ([value, value], [type(value)] * 2)
    assert (ran, shop.effects) == (["made"], ["pay 5"])


async def test_a_value_that_cannot_be_stored_is_refused_and_not_made_a_text():
    """W12: entered again, the visit does not go on with something else, and the tool does not run again."""
    ran: list[str] = []
    make, data = returning(object(), None, ran), None
    for times in range(2):
        journal = make_journal(data)
        with visit_scope(None, journal):
            if times == 0:
                assert type(await Executor().run(make)) is object
            else:
                with pytest.raises(ToolUsageError, match="make"):
                    await Executor().run(make)
        journal.close()
        data = journal.data()
    assert ran == ["made"]


async def test_a_run_does_not_pause_beside_a_value_that_it_could_not_give_back(shop: Shop):
    """W12: the pause is refused, by name, and no call was approved for nothing."""
    ran: list[str] = []
    calls = [ToolCall("1", "make", {}), ask("pay", 5)]
    with pytest.raises(NotSealable, match="make"):
        await shop.run(play(calls, "done"), [returning(object(), None, ran), shop.pay])
    assert (ran, shop.effects) == (["made"], [])
    assert await shop.status() == "running"
