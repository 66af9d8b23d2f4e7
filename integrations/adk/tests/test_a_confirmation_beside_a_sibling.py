"""One call of a turn is asked about and one is not: neither is lost or done twice, also when the reader stops early."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, shown

TURN = [ask("wipe", "a", call_id="1"), ask("mail", "b", call_id="2")]


def is_question(event):
    return any(call.name == "adk_request_confirmation" for call in event.get_function_calls())


@pytest.mark.parametrize("until", [lambda _: False, is_question], ids=["reads on", "stops early"])
async def test_the_sibling_of_a_confirmed_call_runs_once_and_the_model_sees_both_results(
    oracle, make_chat, until
):
    model = ScriptedModel(TURN)
    wipe = oracle.tool("wipe", require_confirmation=True)
    chat = make_chat(agent(model, wipe, oracle.tool("mail")))
    await chat.say(until=until)

    events = await chat.answer("approve")

    assert sorted(oracle.lines) == ["mail:b", "wipe:a"]
    assert responses(events)["wipe"] == {"did": "wipe a"}
    assert shown(model) == {
        "calls": ["wipe", "mail"],
        "responses": {"wipe": {"did": "wipe a"}, "mail": {"did": "mail b"}},
    }
