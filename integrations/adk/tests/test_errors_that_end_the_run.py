"""`on_error="raise"`: a tool's exception ends the run; afterwards the call is in doubt, unless its tool says otherwise."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from google.adk.workflow import RetryConfig, Workflow, node

from agent_adapter import ToolPolicy

RETRY = RetryConfig(max_attempts=3, initial_delay=0.0, jitter=0.0)


class Refused(Exception):
    pass


def failing(times):
    """Fails so often, and then works."""
    left = [times]

    def then(x):
        left[0] -= 1
        if left[0] >= 0:
            raise Refused(f"refused {x}")
        return {"did": x}

    return then


async def raised(oracle, make_chat, make_durable, **policy):
    durable = make_durable(on_error="raise", policies={"charge": ToolPolicy(**policy)})
    tools = oracle.tool("charge", failing(1)), oracle.tool("mail")
    root = agent(ScriptedModel([ask("charge", "a")]), *tools)
    chat = make_chat(root, with_=durable)
    with pytest.raises(Refused, match="refused a"):
        await chat.say()
    return chat


async def test_the_call_is_asked_about_when_the_run_goes_on(oracle, make_chat, make_durable):
    chat = await raised(oracle, make_chat, make_durable)
    await chat.resume()
    (asked,) = await chat.pending()

    events = await chat.answer("approve")

    assert (asked.cause, asked.payload["detail"]) == ("raised", "Refused: refused a")
    assert oracle.lines == ["charge:a", "charge:a"]
    assert responses(events) == {"charge": {"did": "a"}}


@pytest.mark.parametrize("policy", [{"idempotent": True}, {"did_not_happen": (Refused,)}])
async def test_a_call_that_may_be_repeated_runs_again(oracle, make_chat, make_durable, policy):
    chat = await raised(oracle, make_chat, make_durable, **policy)

    events = await chat.resume()

    assert oracle.lines == ["charge:a", "charge:a"]
    assert responses(events) == {"charge": {"did": "a"}}


def graph(oracle, times):
    async def give() -> str:
        return "a"

    charge = node(oracle.tool("charge", failing(times)), retry_config=RETRY)
    return Workflow(name="root", edges=[("START", give, charge)])


def results(events):
    return [event.output for event in events if event.node_info.name == "charge" and event.output]


async def test_a_tool_node_is_not_tried_again_before_a_person_said_so(oracle, make_chat):
    chat = make_chat(graph(oracle, 1))
    await chat.say()
    (asked,) = await chat.pending()
    assert (asked.tool, asked.cause, oracle.lines) == ("charge", "raised", ["charge:a"])

    events = await chat.answer("approve")

    assert oracle.lines == ["charge:a", "charge:a"]
    assert results(events) == [{"did": "a"}]


@pytest.mark.parametrize("policy", [{"idempotent": True}, {"did_not_happen": (Refused,)}])
async def test_a_tool_node_that_may_be_repeated_is(oracle, make_chat, make_durable, policy):
    durable = make_durable(policies={"charge": ToolPolicy(**policy)})
    events = await make_chat(graph(oracle, 2), with_=durable).say()
    assert oracle.lines == ["charge:a"] * 3
    assert results(events) == [{"did": "a"}]
