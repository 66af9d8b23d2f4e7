"""Records go with their session, with their named request, and with age when all of their calls are finished."""

import pytest
from adk_kit import ScriptedModel, agent, ask
from adk_stage import Stopping, stop
from google.adk.agents.run_config import RunConfig

from agent_adapter.errors import ConfigError
from agent_adapter.policies import ToolPolicy

NAMED = RunConfig(custom_metadata={"agent_adapter_run": "order-42"})


def root(oracle):
    return agent(ScriptedModel([ask("pay", "a")]), oracle.tool("pay"))


async def test_a_sessions_records_go_with_it_and_no_others(durable, make_chat, oracle):
    one = make_chat(root(oracle))
    other = make_chat(root(oracle), session="other")
    await one.say()
    await other.say()

    first = await durable.delete_session(await one.session())
    again = await durable.delete_session(await one.session())

    assert (first > 0, again) == (True, 0)
    assert await durable.delete_session(await other.session()) == first


async def test_a_named_request_starts_anew_once_it_is_deleted(durable, make_chat, oracle):
    await make_chat(root(oracle)).say(run_config=NAMED)
    await make_chat(root(oracle), session="again").say(run_config=NAMED)
    before = oracle.lines

    deleted = await durable.delete_run("shop", "order-42")
    await make_chat(root(oracle), session="anew").say(run_config=NAMED)

    assert (before, deleted > 0) == (["pay:a"], True)
    assert await durable.delete_run("shop", "order-41") == 0
    assert oracle.lines == ["pay:a", "pay:a"]


async def test_pruning_leaves_what_is_young(durable, make_chat, oracle):
    await make_chat(root(oracle)).say()

    assert await durable.prune(3600) == 0
    assert await durable.prune(0) == 1
    assert await durable.prune(0) == 0


async def test_pruning_leaves_what_waits(make_durable, make_chat, oracle):
    durable = make_durable(policies={"pay": ToolPolicy(confirm=True)})
    chat = make_chat(root(oracle), with_=durable)
    await chat.say()

    pruned = await durable.prune(0)
    await chat.answer("approve")

    assert (pruned, oracle.lines) == (0, ["pay:a"])


async def test_an_unfinished_invocation_forgets_with_its_records(durable, make_chat, oracle):
    """Who deletes records of a call that is open says that it never ran."""
    await stop(make_chat(root(oracle), plugins=(Stopping(),)))
    chat = make_chat(root(oracle))

    await durable.delete_session(await chat.session())
    await chat.resume()

    assert oracle.lines == ["pay:a", "pay:a"]


@pytest.mark.parametrize("age", [-1, float("nan"), True, "1"])
async def test_an_age_is_a_number_of_seconds(durable, age):
    with pytest.raises(ConfigError, match="older_than_s"):
        await durable.prune(age)
