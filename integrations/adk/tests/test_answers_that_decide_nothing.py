"""An answer that does not plainly decide what was shown is refused before anything is stored, and the call stays parked."""

import pytest
from adk_kit import ScriptedModel, agent, ask

from agent_adapter.errors import ToolUsageError
from agent_adapter.policies import ToolPolicy

PLAIN = [
    {},
    {"confirmed": "yes"},
    {"confirmed": 1},
    {"confirmed": None},
    {"confirmed": True, "extra": 1},
    {"Confirmed": True},
    {"approved": True},
    {"response": "yes"},
    {"response": "{}"},
    {"response": '{"confirmed": "true"}'},
    {"response": '{"confirmed": true, "why": "x"}'},
    {"response": True},
    {"result": "yes"},
]
OURS = [
    {"confirmed": False, "payload": {"type": "approve"}},
    {"confirmed": True, "payload": {"type": "reject"}},
    {"confirmed": False, "payload": {"type": "edit", "args": {"x": "b"}}},
    {"confirmed": False, "payload": {"args": {"x": "b"}}},
    {"confirmed": True, "payload": {"type": "edit", "args": ["b"]}},
    {"confirmed": True, "payload": {"type": "sure"}},
    {"confirmed": True, "payload": {"type": "approve", "args": {}}},
    {"confirmed": True, "payload": {"anything": 1}},
    {"confirmed": True, "payload": "approve"},
    {"confirmed": True, "payload": ["approve"]},
    {"confirmed": True, "payload": {"decisions": {}}},
    {"confirmed": True, "payload": {"decisions": {"q-0": "approve"}}},
    {"confirmed": True, "payload": {"request_id": "q-0", "args": {"x": "a"}}},
]


@pytest.fixture
def wiping(oracle, make_durable, make_chat):
    def made(ours):
        durable = make_durable(policies={"wipe": ToolPolicy(confirm=ours)})
        wipe = oracle.tool("wipe", require_confirmation=not ours)
        return make_chat(agent(ScriptedModel([ask("wipe", "a")]), wipe), with_=durable)

    return made


async def refused(chat, response):
    await chat.say()
    (asked,) = await chat.pending()
    before = (await chat.session()).events
    with pytest.raises(RuntimeError) as refusal:
        await chat.post({asked.id: response})
    assert type(refusal.value.__cause__) is ToolUsageError
    assert (await chat.session()).events == before
    assert [each.id for each in await chat.pending()] == [asked.id]


@pytest.mark.parametrize("response", PLAIN, ids=str)
@pytest.mark.parametrize("ours", [False, True], ids=["ADK's question", "ours"])
async def test_a_malformed_answer_is_refused_and_the_call_stays_parked(
    wiping, oracle, ours, response
):
    chat = wiping(ours)
    await refused(chat, response)
    assert oracle.lines == []


@pytest.mark.parametrize("response", OURS, ids=str)
async def test_a_contradictory_answer_is_refused_and_the_call_stays_parked(
    wiping, oracle, response
):
    chat = wiping(True)
    await refused(chat, response)
    assert oracle.lines == []
