"""Arguments that get another value each time they are validated: refused before anything runs, where a record is kept."""

import uuid

import pytest
from pydantic import BaseModel, Field
from tests.exec.loop_kit import Lab, ask, said

from agent_adapter import Executor, Registry, ToolCall, ToolUsageError, tool


class Payment(BaseModel):
    cents: int
    ref: str = Field(default_factory=lambda: uuid.uuid4().hex)


class Basket(BaseModel):
    cents: int
    items: list[str] = Field(default_factory=list)


def wiring(model: type[BaseModel], ran: list[int], **policy):
    async def wire(payment) -> str:
        ran.append(payment.cents)
        return "wired"

    wire.__annotations__["payment"] = model
    return tool(**policy)(wire)


@pytest.mark.parametrize("confirm", [False, True])
async def test_a_durable_loop_refuses_such_a_call_before_its_body_runs(store, confirm):
    """Item 105: a record that could never be found again is not begun; the error names the way out."""
    lab, ran = Lab(store), []
    lab.tools = Registry([wiring(Payment, ran, confirm=confirm)])
    lab.play([ask("wire", payment={"cents": 5})], "end")
    with pytest.raises(ToolUsageError, match=r"'wire'.*default_factory.*let the caller give it"):
        await lab.run()
    assert (ran, await lab.records()) == ([], [])


async def test_a_value_that_the_caller_gives_is_not_made(store):
    lab, ran = Lab(store), []
    lab.tools = Registry([wiring(Payment, ran)])
    lab.play([ask("wire", payment={"cents": 5, "ref": "r"})], "end")
    assert said(await lab.run())[2] == ("tool", "wired")
    assert ran == [5]


async def test_a_factory_that_makes_equal_values_is_no_reason_to_refuse(store):
    lab, ran = Lab(store), []
    lab.tools = Registry([wiring(Basket, ran)])
    lab.play([ask("wire", payment={"cents": 5})], "end")
    assert said(await lab.run())[2] == ("tool", "wired")
    assert ran == [5]


async def test_without_a_record_such_a_call_runs():
    ran = []
    executor = Executor(Registry([wiring(Payment, ran)]))
    result = await executor.run_call(ToolCall("c", "wire", {"payment": {"cents": 5}}))
    assert (result.value, ran) == ("wired", [5])
