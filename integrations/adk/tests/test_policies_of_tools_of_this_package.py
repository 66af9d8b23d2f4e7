"""A tool of this package brings its policy with it; one that is set by name comes before it."""

import pytest
from adk_charge import charging, once
from adk_kit import responses
from adk_stage import Stopping, stop

from agent_adapter.policies import ToolPolicy

REFUSED = ConnectionRefusedError("no line")
PROVES = (ConnectionRefusedError,)
# The tool's settings, those by name, the effects after a failure and a resume, and what is asked.
CASES = {
    "nothing said": ({}, {}, 1, ["raised"]),
    "idempotent": ({"idempotent": True}, {}, 2, []),
    "it did not happen": ({"did_not_happen": PROVES}, {}, 2, []),
    "by name first": ({"idempotent": True}, {"charge": ToolPolicy()}, 1, ["raised"]),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_failure_is_judged_by_the_policy(*, case, make_durable, make_chat, oracle):
    own, named, effects, causes = CASES[case]
    durable = make_durable(policies=named, on_error="raise")
    chat = make_chat(once(durable.tool(charging(oracle, REFUSED, **own))), with_=durable)
    with pytest.raises(ConnectionRefusedError):
        await chat.say()

    await chat.resume()

    assert oracle.lines == ["charge:5"] * effects
    assert [each.cause for each in await chat.pending()] == causes


async def test_nobody_is_asked_where_the_gate_is_off(make_durable, make_chat, oracle):
    durable = make_durable(gate=False)
    chat = make_chat(once(durable.tool(charging(oracle, confirm=True))), with_=durable)

    await chat.say()

    assert (oracle.lines, await chat.pending()) == (["charge:5"], [])


async def test_a_finished_call_is_replayed(durable, make_chat, oracle):
    await stop(make_chat(once(durable.tool(charging(oracle))), plugins=(Stopping(),)))

    events = await make_chat(once(durable.tool(charging(oracle)))).resume()

    assert responses(events) == {"charge": {"paid": 5}}
    assert oracle.lines == ["charge:5"]


async def test_a_tool_that_only_reads_is_read_again(durable, make_chat, oracle):
    def root():
        return once(durable.tool(charging(oracle, read_only=True)))

    await stop(make_chat(root(), plugins=(Stopping(),)))

    events = await make_chat(root()).resume()

    assert responses(events) == {"charge": {"paid": 5}}
    assert oracle.lines == ["charge:5"] * 2
