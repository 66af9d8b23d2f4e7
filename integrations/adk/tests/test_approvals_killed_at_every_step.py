"""A worker is killed at each step of asking and answering; whoever goes on loses no question, no decision and no effect."""

import asyncio

import pytest
from adk_kills import live
from adk_kit import ScriptedModel, agent, ask, words
from google.adk.tools.agent_tool import AgentTool

from agent_adapter.policies import ToolPolicy

POLICIES = {"grant": ToolPolicy(confirm=True)}


def one_agent(oracle, asks, name="root"):
    tools = (
        oracle.tool("wipe", require_confirmation=True),
        oracle.tool("grant"),
        oracle.tool("mail"),
    )
    return agent(ScriptedModel([ask(asks, "a"), ask("mail", "b")]), *tools, name=name)


def nested(oracle, asks):
    inner = AgentTool(one_agent(oracle, asks, "inner"))
    return agent(ScriptedModel([ask("inner", request="go")]), inner)


ROOTS = {"agent": one_agent, "agent tool": nested}


async def ask_and_approve(chat):
    await chat.say()
    await chat.answer("approve")


def killed(folder, root, asks, point, number):
    def build(oracle):
        return ROOTS[root](oracle, asks)

    live(folder, point, number, build, ask_and_approve, policies=POLICIES)


async def go_on(chat, oracle):
    """Go on until all is quiet; the person says the truth about calls in doubt. Everything that was said."""
    said = []
    for _ in range(5):
        said += words(await chat.resume())
        asked = await chat.pending()
        if not asked:
            break
        answers = {each.id: truth(each, oracle) for each in asked}
        events = await chat.durable.answer(chat.runner, await chat.session(), answers)
        said += words(events)
    assert await chat.pending() == []
    return said


def truth(question, oracle):
    if question.inside:
        return {each.request_id: truth(each, oracle) for each in question.inside}
    happened = f"{question.tool}:{question.arguments['x']}" in oracle.lines
    if happened and question.cause not in ("native", "approval"):
        return {"type": "respond", "message": {"did": "it"}}
    return "approve"


STEPS = [
    ("event root", 1),  # the calls are stored
    ("record mail started", 1),
    ("record mail done", 1),
    ("event root", 2),  # the placeholder, or the question
    ("event root", 3),  # the other of the two
    ("record #lease done", 1),
    ("record #lease started", 2),
    ("event user adk_request_confirmation", 1),  # the decision is stored
    ("record {} started", 1),
    ("record {} done", 1),
    ("event root", 4),  # the answer to the model
    ("event root", 5),  # the last words
]


@pytest.mark.parametrize(("point", "number"), STEPS, ids=str)
@pytest.mark.parametrize("asks", ["wipe", "grant"], ids=["by ADK", "by policy"])
@pytest.mark.parametrize("root", ROOTS)
async def test_nothing_is_lost_or_done_twice(
    *, tmp_path, in_child, oracle, make_chat, make_durable, root, asks, point, number
):
    step = point.format(asks), number
    assert await asyncio.to_thread(in_child, killed, tmp_path, root, asks, *step) == -9
    chat = make_chat(ROOTS[root](oracle, asks), with_=make_durable(policies=POLICIES))

    await go_on(chat, oracle)

    assert sorted(oracle.lines) == sorted([f"{asks}:a", "mail:b"])
    assert words((await chat.session()).events)[-1] == "done"
