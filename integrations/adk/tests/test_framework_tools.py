"""ADK's own tools are left alone: nothing of them is recorded, and no policy of ours is asked about them."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, words
from google.adk.agents import LoopAgent
from google.adk.memory import InMemoryMemoryService
from google.adk.tools import exit_loop, load_artifacts, load_memory

from agent_adapter.policies import ToolPolicy

NAMES = ("exit_loop", "transfer_to_agent", "load_memory", "load_artifacts")


@pytest.fixture
def strict(make_durable):
    """Durable tools that would ask about each of them."""
    return make_durable(policies=dict.fromkeys(NAMES, ToolPolicy(confirm=True)))


async def test_a_loop_ends(strict, make_chat):
    inside = agent(ScriptedModel([ask("exit_loop")]), exit_loop, name="inside")
    chat = make_chat(LoopAgent(name="root", sub_agents=[inside], max_iterations=5), with_=strict)

    events = await chat.say()

    assert len(responses(events)) == 1
    assert any(event.actions.escalate for event in events)
    assert await chat.pending() == []


async def test_a_transfer_is_made(strict, make_chat):
    other = agent(ScriptedModel("hello"), name="other")
    root = agent(ScriptedModel([ask("transfer_to_agent", agent_name="other")]), sub_agents=[other])
    chat = make_chat(root, with_=strict)

    assert words(await chat.say()) == ["hello"]
    assert await chat.pending() == []


@pytest.mark.parametrize("given", [load_memory, load_artifacts], ids=["memory", "artifacts"])
async def test_loaders_load(strict, make_chat, given):
    arguments = {"query": "x"} if given is load_memory else {"artifact_names": []}
    chat = make_chat(agent(ScriptedModel([ask(given.name, **arguments)]), given), with_=strict)
    chat.runner.memory_service = InMemoryMemoryService()

    events = await chat.say()

    assert list(responses(events)) == [given.name]
    assert "error" not in responses(events)[given.name]
    assert await chat.pending() == []


async def test_an_own_tool_of_the_same_name_is_protected(strict, make_chat, oracle):
    root = agent(ScriptedModel([ask("exit_loop", "a")]), oracle.tool("exit_loop"))
    chat = make_chat(root, with_=strict)

    await chat.say()

    assert oracle.lines == []
    assert [each.tool for each in await chat.pending()] == ["exit_loop"]
