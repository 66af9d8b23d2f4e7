"""A second server that goes on with an invocation while the first is at it is refused before it changes anything."""

import asyncio

import pytest
from adk_chat import Chat
from adk_kit import Oracle, ScriptedModel, agent, ask, responses, service_on

from agent_adapter.errors import CheckpointConflict
from agent_adapter_adk import DurableTools


def root(oracle, then=None):
    """Charges once it is approved."""
    charge = oracle.tool("charge", then, require_confirmation=True)
    return agent(ScriptedModel([ask("charge", "a")]), charge)


def first_server(pipe, folder):
    """Has the approval, charges, and waits in the middle of it for a word."""

    async def run():
        async def then(_):
            pipe.send("charged")
            await asyncio.to_thread(pipe.recv)
            return {"did": "charge a"}

        durable = DurableTools(folder / "runs.db")
        made = root(Oracle(folder / "effects"), then)
        chat = Chat(durable, made, service_on(folder / "sqlite.db"))
        await chat.say()
        pipe.send(responses(await chat.answer("approve")))

    asyncio.run(run())


async def go_on(chat, question):
    await chat.resume()


async def go_on_by_id(chat, question):
    await chat.run(invocation_id=(await chat.session()).events[0].invocation_id)


async def approve_again(chat, question):
    await chat.post({question: {"confirmed": True}})


@pytest.mark.parametrize("second", [go_on, go_on_by_id, approve_again])
async def test_the_second_server_is_refused_before_the_session_changes(
    *, tmp_path, oracle, make_durable, make_chat, start_child, second
):
    child = start_child(first_server, tmp_path)
    assert await asyncio.to_thread(child.hear) == "charged"
    chat = make_chat(root(oracle), with_=make_durable(claim_wait_s=0.1))
    before = (await chat.session()).events
    (question,) = [
        call.id
        for event in before
        for call in event.get_function_calls()
        if call.name == "adk_request_confirmation"
    ]

    with pytest.raises(RuntimeError) as refused:
        await second(chat, question)

    assert type(refused.value.__cause__) is CheckpointConflict
    assert (await chat.session()).events == before
    child.pipe.send("go on")
    assert await asyncio.to_thread(child.hear) == {"charge": {"did": "charge a"}}
    assert oracle.lines == ["charge:a"]
