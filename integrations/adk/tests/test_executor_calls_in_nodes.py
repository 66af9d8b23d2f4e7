"""Executor calls in a durable node: recorded, asked about by their tool's `confirm`, replayed when the node runs again."""

import pytest
from adk_stage import Stop, stop
from adk_steps import graph, outputs

from agent_adapter import Executor, tool
from agent_adapter.approvals import ApprovalDecision
from agent_adapter.errors import ToolDenied


class Yes:
    """Somebody who approves of everything."""

    async def request(self, request, ctx):
        return ApprovalDecision(approved=True)


@pytest.fixture
def settling(make_durable, make_chat, oracle):
    """A chat whose node wires, and may be stopped after that."""

    @tool(confirm=True)
    async def wire(x: str) -> str:
        """Wire."""
        oracle.write(f"wire:{x}")
        return f"wired {x}"

    def make(*, stops=False, executor=None, **settings):
        durable = make_durable(**settings)

        @durable.node
        async def settle(ctx) -> str:
            """Settle."""
            try:
                given = await (executor or Executor()).run(wire, {"x": "a"})
            except ToolDenied as denied:
                return f"denied: {denied}"
            if stops:
                raise Stop
            return given

        return make_chat(graph(settle), with_=durable)

    return make


@pytest.mark.parametrize(
    ("said", "effects", "given"),
    [
        ("approve", ["wire:a"], "wired a"),
        ({"type": "edit", "args": {"x": "b"}}, ["wire:b"], "wired b"),
        ({"type": "respond", "message": "was wired"}, [], "was wired"),
    ],
    ids=["approve", "edit", "respond"],
)
async def test_it_waits_and_is_answered_elsewhere(*, settling, oracle, said, effects, given):
    await settling().say()
    before = oracle.lines
    later = settling()
    (asked,) = await later.pending()

    events = await later.answer(said)

    assert (asked.tool, asked.arguments, asked.cause) == ("wire", {"x": "a"}, "approval")
    assert before == []
    assert (outputs(events), oracle.lines) == ([given], effects)
    assert await later.pending() == []


async def test_a_refused_call_raises_in_the_node(settling, oracle):
    chat = settling()
    await chat.say()

    (said,) = outputs(await chat.answer({"type": "reject", "message": "too much"}))

    assert said.startswith("denied: ")
    assert said.endswith("too much")
    assert oracle.lines == []


async def test_the_executor_asks_by_itself_where_the_gate_is_off(settling, oracle):
    chat = settling(gate=False, executor=Executor(approvals=Yes()))

    assert outputs(await chat.say()) == ["wired a"]
    assert oracle.lines == ["wire:a"]
    assert await chat.pending() == []


async def test_a_finished_call_is_replayed(settling, oracle):
    yes = Executor(approvals=Yes())
    await stop(settling(gate=False, executor=yes, stops=True))
    before = oracle.lines

    events = await settling(gate=False, executor=yes).resume()

    assert before == oracle.lines == ["wire:a"]
    assert outputs(events) == ["wired a"]
