"""`repair()` gives every open call one truthful answer, so that the model knows what it did when the user writes again."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, shown
from adk_stage import Stage, Stopping, stop
from google.adk.agents.run_config import RunConfig

from agent_adapter.policies import ToolPolicy

CALLS = [ask("pay", "a"), ask("charge", "b"), ask("wire", "c")]
DOUBT = "The outcome of this call is unknown"
NEVER = "This call was never started"


def root(stage):
    tools = [stage.tool(name) for name in ("pay", "charge", "wire")]
    return agent(ScriptedModel(CALLS), *tools)


def killed(folder):
    """Paid, in the middle of a charge; a wire would have to be approved."""
    confirm = {"wire": ToolPolicy(confirm=True)}
    Stage(folder, "charge:b", after=("pay:a",)).perform(root, policies=confirm)


@pytest.fixture
async def repaired(tmp_path, in_child, make_durable, make_chat):
    """A chat after the repair, and the events of it."""
    assert in_child(killed, tmp_path) == -9
    durable = make_durable(policies={"wire": ToolPolicy(confirm=True)})
    chat = make_chat(root(Stage(tmp_path)), with_=durable)
    return chat, await chat.durable.repair(chat.runner, await chat.session())


async def test_each_answer_is_what_the_record_knows(repaired, oracle):
    _, events = repaired

    told = responses(events)

    assert told["pay"] == {"did": "pay a"}
    assert told["charge"]["error"].startswith(DOUBT)
    assert told["wire"]["error"].startswith(NEVER)
    assert sorted(oracle.lines) == ["charge:b", "pay:a"]


async def test_the_model_is_shown_them_with_the_next_message(repaired, oracle):
    chat, events = repaired

    await chat.say("and now?")

    model = chat.runner.app.root_agent.model
    assert shown(model) == {"calls": ["pay", "charge", "wire"], "responses": responses(events)}
    assert sorted(oracle.lines) == ["charge:b", "pay:a"]


async def test_a_second_repair_has_nothing_to_do(repaired):
    chat, _ = repaired
    assert await chat.durable.repair(chat.runner, await chat.session()) == []


async def test_questions_about_repaired_calls_are_closed(tmp_path, in_child, make_chat):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    before = [each.tool for each in await chat.pending()]

    await chat.durable.repair(chat.runner, await chat.session())

    assert (before, await chat.pending()) == (["charge", "wire"], [])


async def test_a_late_answer_runs_nothing(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    asked, before = await chat.pending(), oracle.lines
    await chat.durable.repair(chat.runner, await chat.session())

    await chat.post({question.id: {"confirmed": True} for question in asked})

    assert oracle.lines == before


async def test_a_named_run_is_repaired_from_its_record(make_chat, oracle):
    named = RunConfig(custom_metadata={"agent_adapter_run": "order-42"})
    chat = make_chat(
        agent(ScriptedModel([ask("pay", "a")]), oracle.tool("pay")),
        resumable=False,
        plugins=(Stopping(),),
    )
    await stop(chat, run_config=named)

    events = await chat.durable.repair(chat.runner, await chat.session())

    assert responses(events) == {"pay": {"did": "pay a"}}
    assert oracle.lines == ["pay:a"]
