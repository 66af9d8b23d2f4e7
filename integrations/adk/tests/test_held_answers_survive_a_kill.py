"""A worker is killed between two answers of one turn: the first one is kept, and is carried out with the second."""

import asyncio

import pytest
from adk_kills import live
from adk_kit import ScriptedModel, agent, ask
from google.adk.agents import SequentialAgent

from agent_adapter.policies import ToolPolicy

POLICIES = {"grant": ToolPolicy(confirm=True)}
YES = {"confirmed": True}


def root(oracle, asks):
    tools = (
        oracle.tool("wipe", require_confirmation=True),
        oracle.tool("grant"),
        oracle.tool("mail"),
    )
    first = agent(ScriptedModel([ask(asks, "a"), ask(asks, "b")]), *tools, name="first")
    second = agent(ScriptedModel([ask("mail", "c")]), *tools, name="second")
    return SequentialAgent(name="root", sub_agents=[first, second])


def killed(folder, asks, point, number):
    async def act(chat):
        await chat.say()
        for asked in await chat.pending():
            await chat.post({asked.id: YES})

    live(folder, point, number, lambda oracle: root(oracle, asks), act, policies=POLICIES)


@pytest.mark.parametrize("asks", ["wipe", "grant"], ids=["by ADK", "by policy"])
@pytest.mark.parametrize(
    ("point", "number", "left"),
    [
        ("event user adk_request_confirmation", 1, 1),
        ("record #lease done", 2, 1),
        ("event user adk_request_confirmation", 2, 0),
        ("event first {}", 3, 0),
    ],
    ids=["first answer stored", "first answer held", "second answer stored", "carried out"],
)
async def test_both_answers_are_carried_out(
    *, tmp_path, in_child, oracle, make_chat, make_durable, asks, point, number, left
):
    end = await asyncio.to_thread(in_child, killed, tmp_path, asks, point.format(asks), number)
    chat = make_chat(root(oracle, asks), with_=make_durable(policies=POLICIES))
    asked = await chat.pending()
    assert (end, len(asked)) == (-9, left)

    for each in asked:
        await chat.post({each.id: YES})
    await chat.resume()

    assert sorted(oracle.lines) == sorted([f"{asks}:a", f"{asks}:b", "mail:c"])
    assert await chat.pending() == []
