"""A node that times out and is tried again joins the body that still runs: one effect, and the graph ends."""

import asyncio

from adk_kit import ScriptedModel, agent, ask, words
from google.adk.workflow import RetryConfig, Workflow, node

RETRY = RetryConfig(max_attempts=5, initial_delay=0.0, jitter=0.0)
TIMEOUT_S = 0.2


async def give() -> str:
    return "a"


def sluggish(oracle):
    """Ends when it was waited for a second time."""
    tries = asyncio.Event()

    async def then(x):
        await asyncio.wait([asyncio.create_task(tries.wait())], timeout=1.5 * TIMEOUT_S)
        return {"did": x}

    return oracle.tool("sluggish", then)


def outputs(events):
    return [event.output for event in events if event.output is not None]


async def test_a_tool_node(oracle, make_chat):
    late = node(sluggish(oracle), timeout=TIMEOUT_S, retry_config=RETRY)
    chat = make_chat(Workflow(name="root", edges=[("START", give, late)]))

    events = await chat.say()

    assert oracle.lines == ["sluggish:a"]
    assert outputs(events) == ["a", {"did": "a"}]


async def test_an_agent_node(oracle, make_chat):
    model = ScriptedModel([ask("sluggish", "a")], [ask("charge", "b")], "all done")
    made = agent(model, sluggish(oracle), oracle.tool("charge"), name="clerk")
    late = node(made, timeout=TIMEOUT_S, retry_config=RETRY)
    chat = make_chat(Workflow(name="root", edges=[("START", late)]))

    events = await chat.say()

    assert oracle.lines == ["sluggish:a", "charge:b"]
    assert words(events) == ["all done"]
