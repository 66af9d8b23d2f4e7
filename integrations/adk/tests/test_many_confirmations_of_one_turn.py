"""Answers to several questions of one turn that come one at a time are held until all are there."""

import pytest
from adk_kit import ScriptedModel, agent, ask, shown

YES, NO = {"confirmed": True}, {"confirmed": False}


@pytest.fixture(params=["by ADK", "by policy"])
def wiping(request, oracle, make_durable, make_chat):
    """An agent that wipes three times in one turn, asked about by ADK's own confirmation or by ours."""
    from agent_adapter.policies import ToolPolicy

    model = ScriptedModel([ask("wipe", path) for path in "abc"])
    if request.param == "by ADK":
        return model, make_chat(agent(model, oracle.tool("wipe", require_confirmation=True)))
    durable = make_durable(policies={"wipe": ToolPolicy(confirm=True)})
    return model, make_chat(agent(model, oracle.tool("wipe")), with_=durable)


async def test_answers_one_at_a_time_are_carried_out_together(wiping, oracle):
    model, chat = wiping
    await chat.say()
    asked = [each.id for each in await chat.pending()]

    await chat.post({asked[0]: YES})
    await chat.post({asked[1]: NO})
    held = oracle.lines, len(model.seen)
    await chat.post({asked[2]: YES})

    assert held == ([], 1)
    assert sorted(oracle.lines) == ["wipe:a", "wipe:c"]
    assert len(model.seen) == 2
    assert shown(model)["calls"] == ["wipe"] * 3


async def test_answers_in_one_message_are_carried_out_together(wiping, oracle):
    model, chat = wiping
    await chat.say()
    asked = [each.id for each in await chat.pending()]

    await chat.post(dict(zip(asked, [YES, NO, YES], strict=True)))

    assert sorted(oracle.lines) == ["wipe:a", "wipe:c"]
    assert len(model.seen) == 2
