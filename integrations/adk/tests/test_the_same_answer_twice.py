"""An approval that arrives twice, later or at the same moment, runs the call once; a different second answer is refused."""

import asyncio

import pytest
from adk_kit import ScriptedModel, agent, ask, responses

from agent_adapter.errors import ApprovalConflict, CheckpointConflict


async def refund_asked(oracle, make_chat, then=None):
    refund = oracle.tool("refund", then, require_confirmation=True)
    chat = make_chat(agent(ScriptedModel([ask("refund", "o1")]), refund))
    await chat.say()
    (asked,) = await chat.pending()
    return chat, asked.id


async def test_an_approval_that_is_posted_again_later_changes_nothing(oracle, make_chat):
    chat, asked = await refund_asked(oracle, make_chat)
    first = await chat.post({asked: {"confirmed": True}})
    again = await chat.post({asked: {"confirmed": True}})
    assert oracle.lines == ["refund:o1"]
    assert responses(first) == {"refund": {"did": "refund o1"}}
    assert responses(again) == {}


async def test_two_approvals_at_the_same_moment_run_the_call_once(oracle, make_chat, make_durable):
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(x):
        begun.set()
        await go_on.wait()
        return {"ok": x}

    chat, asked = await refund_asked(oracle, make_chat, slowly)
    first = asyncio.create_task(chat.post({asked: {"confirmed": True}}))
    await begun.wait()
    before = (await chat.session()).events

    with pytest.raises(RuntimeError) as refused:
        await chat.post({asked: {"confirmed": True}})

    assert type(refused.value.__cause__) is CheckpointConflict
    assert (await chat.session()).events == before
    go_on.set()
    assert responses(await first) == {"refund": {"ok": "o1"}}
    assert oracle.lines == ["refund:o1"]


@pytest.mark.parametrize(
    ("first", "second", "effects"),
    [(True, False, ["refund:o1"]), (False, True, [])],
    ids=["no after yes", "yes after no"],
)
async def test_a_different_second_answer_is_refused(oracle, make_chat, first, second, effects):
    chat, asked = await refund_asked(oracle, make_chat)
    await chat.post({asked: {"confirmed": first}})
    before = (await chat.session()).events

    with pytest.raises(RuntimeError) as refused:
        await chat.post({asked: {"confirmed": second}})

    assert type(refused.value.__cause__) is ApprovalConflict
    assert oracle.lines == effects
    assert (await chat.session()).events == before
