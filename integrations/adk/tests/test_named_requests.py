"""One request under one name, delivered again: the model is not asked again and nothing is done again, in any session."""

import pytest
from adk_kit import ScriptedModel, agent, ask, words
from adk_stage import Stopping, stop
from google.adk.agents.run_config import RunConfig

from agent_adapter.errors import ConfigError

NAMED = {"run_config": RunConfig(custom_metadata={"agent_adapter_run": "order-42"})}


def root(oracle, mark=""):
    """A model that plans something else under each mark."""
    turns = [ask("charge", f"a{mark}"), ask("pay", f"b{mark}")], [ask("charge", f"c{mark}")]
    model = ScriptedModel(*turns)
    return agent(model, oracle.tool("charge"), oracle.tool("pay"))


@pytest.mark.parametrize("session", ["session", "another"], ids=["same session", "new session"])
@pytest.mark.parametrize("resumable", [True, False])
async def test_a_finished_request_costs_nothing_when_it_comes_again(
    *, oracle, make_chat, make_durable, session, resumable
):
    await make_chat(root(oracle), resumable=resumable).say(**NAMED)
    again = root(oracle, " anew")
    chat = make_chat(again, with_=make_durable(), session=session, resumable=resumable)

    events = await chat.say(**NAMED)

    assert sorted(oracle.lines) == ["charge:a", "charge:c", "pay:b"]
    assert again.model.seen == []
    assert words(events) == ["done"]


@pytest.mark.parametrize("session", ["session", "another"], ids=["same session", "new session"])
@pytest.mark.parametrize("resumable", [True, False])
async def test_an_interrupted_request_goes_on_where_it_was(
    *, oracle, make_chat, make_durable, session, resumable
):
    plugins = (Stopping("charge:c"),)
    await stop(make_chat(root(oracle), plugins=plugins, resumable=resumable), **NAMED)
    again = root(oracle, " anew")
    chat = make_chat(again, with_=make_durable(), session=session, resumable=resumable)

    events = await chat.say(**NAMED)

    assert sorted(oracle.lines) == ["charge:a", "charge:c", "pay:b"]
    # It is asked only for what no worker had planned.
    assert len(again.model.seen) == 1
    assert words(events) == ["done"]


async def test_another_message_under_the_name_is_refused(oracle, make_chat):
    chat = make_chat(root(oracle))
    await chat.say(**NAMED)
    before = (await chat.session()).events

    with pytest.raises(RuntimeError) as refused:
        await chat.say("something else", **NAMED)

    assert type(refused.value.__cause__) is ConfigError
    assert "one name is for one request" in str(refused.value)
    assert (await chat.session()).events == before


@pytest.mark.parametrize("name", ["", 42, ["a"]])
async def test_a_name_that_names_nothing_is_refused(oracle, make_chat, name):
    chat = make_chat(root(oracle))
    config = RunConfig(custom_metadata={"agent_adapter_run": name})
    with pytest.raises(Exception, match="non-empty string that names one request"):
        await chat.say(run_config=config)
    assert oracle.lines == []


async def test_a_deleted_request_starts_anew(oracle, make_chat, durable):
    chat = make_chat(root(oracle))
    await chat.say(**NAMED)

    assert await durable.delete_run("shop", "order-42") > 0
    await make_chat(root(oracle, " anew"), session="another").say(**NAMED)

    assert [line for line in oracle.lines if "anew" in line] != []
