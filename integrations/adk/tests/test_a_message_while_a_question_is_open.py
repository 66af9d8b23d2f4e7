"""The user writes while a question is open: that is a turn of its own, and the question can still be answered later."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words

from agent_adapter.policies import ToolPolicy


@pytest.mark.parametrize("native", [True, False], ids=["by ADK", "by policy"])
async def test_a_question_outlives_the_turns_that_come_meanwhile(
    oracle, make_chat, make_durable, native
):
    durable = make_durable(policies={"wipe": ToolPolicy(confirm=not native)})
    wipe = oracle.tool("wipe", require_confirmation=native)
    chat = make_chat(agent(ScriptedModel([ask("wipe", "a")]), wipe), with_=durable)
    await chat.say("wipe a")
    (asked,) = await chat.pending()

    meanwhile = await chat.say("and how are you?")
    still_open = await chat.pending()
    events = await chat.post({asked.id: {"confirmed": True}})

    assert asked in still_open
    assert responses(meanwhile) == {}
    assert responses(events) == {"wipe": {"did": "wipe a"}}
    assert words(events)[-1] == "done"
    assert oracle.lines == ["wipe:a"]
