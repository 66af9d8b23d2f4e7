"""Steps of a durable node after a kill: a finished one is answered from the record, one in doubt asks from its node."""

import asyncio

import pytest
from adk_chat import Chat
from adk_kit import service_on
from adk_stage import Stage
from adk_steps import outputs, two_steps

from agent_adapter_adk import DurableTools

FIRST, SECOND = {"did": "charge a"}, {"did": "pay b"}


@pytest.fixture
def begin(tmp_path, in_child, durable, make_chat):
    """Kill a worker after this effect; a chat that goes on."""

    def start(line):
        assert in_child(worker, tmp_path, line) == -9
        return make_chat(two_steps(durable, Stage(tmp_path)))

    return start


def worker(folder, line):
    async def run():
        durable = DurableTools(folder / "runs.db")
        root = two_steps(durable, Stage(folder, line))
        await Chat(durable, root, service_on(folder / "sqlite.db")).say()

    asyncio.run(run())


async def test_a_finished_step_does_not_run_again(begin, oracle):
    chat = begin("pay:b")
    await chat.resume()
    (asked,) = await chat.pending()
    before = oracle.lines

    events = await chat.answer("approve")

    assert (asked.tool, asked.arguments, asked.cause) == ("pay", {"x": "b"}, "died")
    assert before == ["charge:a", "pay:b"]
    assert oracle.lines == ["charge:a", "pay:b", "pay:b"]
    assert outputs(events) == [[FIRST, SECOND]]


@pytest.mark.parametrize("posted", ["approve", {"type": "respond", "message": FIRST}], ids=str)
async def test_the_answer_decides_about_a_step_in_doubt(*, begin, oracle, posted):
    chat = begin("charge:a")
    await chat.resume()

    events = await chat.answer(posted)

    assert oracle.lines == ["charge:a", *(["charge:a"] if posted == "approve" else []), "pay:b"]
    assert outputs(events) == [[FIRST, SECOND]]
    assert await chat.pending() == []


async def test_a_refused_step_gives_what_a_refused_call_gives(begin, oracle):
    chat = begin("charge:a")
    await chat.resume()

    events = await chat.answer({"type": "reject", "message": "leave it"})

    assert oracle.lines == ["charge:a", "pay:b"]
    assert outputs(events) == [[{"error": "leave it"}, SECOND]]
    assert await chat.pending() == []
