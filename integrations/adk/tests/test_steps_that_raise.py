"""A step that raises in a node with retries: what proves that nothing happened runs again, anything else is asked about."""

import pytest
from adk_steps import graph, outputs
from google.adk.workflow import RetryConfig

from agent_adapter.policies import ToolPolicy

RETRY = RetryConfig(max_attempts=4, initial_delay=0.0, jitter=0.0)
PROVES = ToolPolicy(did_not_happen=(ConnectionRefusedError,))


@pytest.fixture
def settling(make_durable, make_chat, oracle):
    """A chat whose node charges, and fails the first time."""

    def failing(_):
        if len(oracle.lines) == 1:
            raise ConnectionRefusedError("no line")
        return "paid"

    charge = oracle.function("charge", failing)

    def make(**policies):
        durable = make_durable(policies=policies)

        @durable.node(retry_config=RETRY)
        async def settle(ctx) -> str:
            """Settle."""
            return await durable.step(ctx, charge, "a")

        return make_chat(graph(settle), with_=durable)

    return make


@pytest.mark.parametrize("policy", [PROVES, ToolPolicy(idempotent=True)], ids=["proved", "again"])
async def test_a_retry_runs_it_again_where_that_is_safe(settling, oracle, policy):
    chat = settling(charge=policy)

    events = await chat.say()

    assert outputs(events) == ["paid"]
    assert oracle.lines == ["charge:a", "charge:a"]
    assert await chat.pending() == []


async def test_a_retry_asks_where_it_is_not(settling, oracle):
    chat = settling()
    await chat.say()
    (asked,) = await chat.pending()
    before = oracle.lines

    events = await chat.answer({"type": "respond", "message": "paid before"})

    assert (asked.tool, asked.cause, asked.payload["detail"]) == (
        "charge",
        "raised",
        "ConnectionRefusedError: no line",
    )
    assert before == oracle.lines == ["charge:a"]
    assert outputs(events) == ["paid before"]
