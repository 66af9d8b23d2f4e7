"""An app that is not resumable is refused at its first protected call, unless the request has a name of its own."""

import pytest
from adk_kit import ListedModel, ScriptedModel, agent, ask, responses, words
from google.adk.agents.run_config import RunConfig

from agent_adapter.errors import ConfigError

NAMED = RunConfig(custom_metadata={"agent_adapter_run": "order-42"})


def charging(oracle, model):
    return agent(model, oracle.tool("charge", require_confirmation=True), oracle.tool("mail"))


async def test_a_protected_call_is_refused_and_the_one_line_that_fixes_it_is_named(
    oracle, make_chat
):
    chat = make_chat(agent(ScriptedModel([ask("mail", "a")]), oracle.tool("mail")), resumable=False)
    with pytest.raises(RuntimeError) as refused:
        await chat.say()
    assert type(refused.value.__cause__) is ConfigError
    assert "resumability_config=ResumabilityConfig(is_resumable=True)" in str(refused.value)
    assert oracle.lines == []


async def test_unsaved_calls_run_when_that_is_allowed(oracle, make_chat, make_durable):
    durable = make_durable(allow_unsaved=True)
    root = agent(ScriptedModel([ask("mail", "a")]), oracle.tool("mail"))
    await make_chat(root, with_=durable, resumable=False).say()
    assert oracle.lines == ["mail:a"]


async def test_a_named_request_that_is_delivered_again_runs_nothing_twice(oracle, make_chat):
    root = agent(ListedModel([ask("mail", "a")]), oracle.tool("mail"))
    await make_chat(root, resumable=False).say(run_config=NAMED)
    drifting = agent(ListedModel([ask("mail", "b")]), oracle.tool("mail"))

    events = await make_chat(drifting, resumable=False).say(run_config=NAMED)

    assert oracle.lines == ["mail:a"]
    assert responses(events) == {"mail": {"did": "mail a"}}
    assert words(events) == ["done"]


async def test_a_named_request_is_approved_in_an_app_that_is_not_resumable(oracle, make_chat):
    model = ScriptedModel([ask("charge", "a"), ask("mail", "b")])
    chat = make_chat(charging(oracle, model), resumable=False)
    await chat.say(run_config=NAMED)

    events = await chat.answer("approve")

    assert sorted(oracle.lines) == ["charge:a", "mail:b"]
    assert responses(events)["charge"] == {"did": "charge a"}
    assert words(events) == ["done"]
