"""Two sub-agents are tools of one turn and one of them pauses: the other, and what the paused one had done, is not repeated."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.types import Command
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    durable_app,
    interrupts,
)

from agent_adapter_langgraph import DurableTools

TURN = ask(("agent_a", "x", "m1"), ("agent_b", "y", "m2"))
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


def subagents(oracle: Oracle, durable: DurableTools | None) -> list[Any]:
    """agent_a prepares and then wipes, which a person approves; agent_b mails."""
    gate = HumanInTheLoopMiddleware(interrupt_on={"wipe": True})
    a = create_agent(
        ScriptedChat(ask(("prep", "1", "a1")), ask(("wipe", "1", "a2"))),
        [oracle.tool("prep"), oracle.tool("wipe")],
        middleware=durable.middleware(gate) if durable else [gate],
    )
    b = create_agent(
        ScriptedChat(ask(("mail", "1", "b1"))),
        [oracle.tool("mail")],
        middleware=durable.middleware() if durable else [],
    )

    def runs(agent: Any) -> Any:
        return lambda x: agent.invoke({"messages": [("user", x)]})["messages"][-1].text

    return [oracle.tool("agent_a", runs(a)), oracle.tool("agent_b", runs(b))]


def test_only_the_paused_one_goes_on(way, durable, sync_saver, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), subagents(oracle, durable), sync_saver)

    paused = app.invoke(GO, THREAD)
    done = app.invoke(APPROVE, THREAD)

    assert len(interrupts(paused)) == 1
    assert answers(done) == {"m1": "done", "m2": "done"}
    assert [oracle.lines.count(line) for line in ("prep:1", "wipe:1", "mail:1", "agent_b:y")] == [
        1,
        1,
        1,
        1,
    ]


async def test_control_the_bare_tool_node_starts_both_over(sync_saver, oracle):
    app = bare_app("node", ScriptedChat(TURN), subagents(oracle, None), sync_saver)

    app.invoke(GO, THREAD)
    app.invoke(APPROVE, THREAD)

    assert oracle.lines.count("agent_b:y") == 2
