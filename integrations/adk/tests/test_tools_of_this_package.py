"""`durable.tool`: the model sees the tool's own schema, arguments are validated by it, and retries and timeouts are its own."""

import asyncio

import pytest
from adk_charge import charging, once
from adk_kit import responses

from agent_adapter import tool


def test_the_model_is_shown_its_schema(durable, oracle):
    made = charging(oracle)

    declared = durable.tool(made)._get_declaration()

    assert (declared.name, declared.description) == ("charge", "Charge the customer.")
    assert declared.parameters_json_schema == made.spec.parameters
    assert declared.parameters_json_schema["required"] == ["cents"]


async def test_a_function_becomes_a_tool(durable, make_chat, oracle):
    def charge(cents: int) -> str:
        """Charge."""
        oracle.write(f"charge:{cents}")
        return f"paid {cents}"

    events = await make_chat(once(durable.tool(charge))).say()

    assert responses(events) == {"charge": {"result": "paid 5"}}
    assert oracle.lines == ["charge:5"]


@pytest.mark.parametrize("arguments", [{"cents": "many"}, {"euros": 1}, {"cents": None}], ids=str)
async def test_arguments_that_do_not_fit_are_told_to_the_model(
    *, durable, make_chat, oracle, arguments
):
    events = await make_chat(once(durable.tool(charging(oracle)), **arguments)).say()

    answer = responses(events)["charge"]
    assert list(answer) == ["error"]
    assert "charge" in answer["error"]
    assert oracle.lines == []


async def test_its_retries_are_one_call(durable, make_chat, oracle):
    made = charging(oracle, OSError("busy"), retry=2, did_not_happen=(OSError,))

    events = await make_chat(once(durable.tool(made))).say()

    assert responses(events) == {"charge": {"paid": 5}}
    assert oracle.lines == ["charge:5", "charge:5"]


async def test_its_timeout_is_told_to_the_model(durable, make_chat):
    @tool(timeout=0.05)
    async def charge(cents: int) -> None:
        """Never ends."""
        await asyncio.Event().wait()

    events = await make_chat(once(durable.tool(charge))).say()

    assert "0.05" in responses(events)["charge"]["error"]
