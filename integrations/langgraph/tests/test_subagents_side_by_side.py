"""Sub-agents are tools of one turn and one of them pauses: no other one, and nothing that was done, starts again."""

import asyncio
import threading
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
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


def wiping(oracle: Oracle, durable: DurableTools | None) -> Any:
    """An agent that prepares and then wipes, which a person approves."""
    gate = HumanInTheLoopMiddleware(interrupt_on={"wipe": True})
    replies = ask(("prep", "1", "a1")), ask(("wipe", "1", "a2")), AIMessage("a is through")
    return create_agent(
        ScriptedChat(*replies),
        [oracle.tool("prep"), oracle.tool("wipe")],
        middleware=durable.middleware(gate) if durable else [gate],
    )


def mailing(oracle: Oracle, durable: DurableTools | None, *, name: str = "b") -> Any:
    """An agent that mails."""
    return create_agent(
        ScriptedChat(ask(("mail", name, f"{name}1")), AIMessage(f"{name} is through")),
        [oracle.tool("mail")],
        middleware=durable.middleware() if durable else [],
    )


def tools_of(kind: str, oracle: Oracle, durable: DurableTools | None) -> list[Any]:
    """agent_a and agent_b; agent_b begins when agent_a has paused or ended."""
    a, b = wiping(oracle, durable), mailing(oracle, durable)
    a_rests: Any = asyncio.Event() if kind == "async" else threading.Event()

    def agent_a(x: str) -> str:
        try:
            return a.invoke({"messages": [("user", x)]})["messages"][-1].text
        finally:
            a_rests.set()

    def agent_b(x: str) -> str:
        assert a_rests.wait(10)
        return b.invoke({"messages": [("user", x)]})["messages"][-1].text

    async def aagent_a(x: str) -> str:
        try:
            return (await a.ainvoke({"messages": [("user", x)]}))["messages"][-1].text
        finally:
            a_rests.set()

    async def aagent_b(x: str) -> str:
        await a_rests.wait()
        return (await b.ainvoke({"messages": [("user", x)]}))["messages"][-1].text

    bodies = (aagent_a, aagent_b) if kind == "async" else (agent_a, agent_b)
    return [
        oracle.tool(name, body) for name, body in zip(("agent_a", "agent_b"), bodies, strict=True)
    ]


async def test_only_the_paused_one_goes_on(way, driver, durable, oracle):
    tools = tools_of(driver.kind, oracle, durable)
    app = durable_app(way, durable, ScriptedChat(TURN), tools, driver.saver)

    paused = await driver.invoke(app, GO)
    done = await driver.invoke(app, APPROVE)

    assert len(interrupts(paused)) == 1
    assert answers(done) == {"m1": "a is through", "m2": "b is through"}
    assert sorted(oracle.lines) == [
        "agent_a:x",
        "agent_a:x",
        "agent_b:y",
        "mail:b",
        "prep:1",
        "wipe:1",
    ]


def test_one_after_the_other_in_an_own_node(durable, sync_saver, oracle):
    agents = {name: mailing(oracle, durable, name=name) for name in "bc"}
    first, second = durable.wrap(
        [
            oracle.tool(
                f"agent_{name}",
                lambda x, agent=agent: agent.invoke({"messages": [("user", x)]})["messages"],
            )
            for name, agent in agents.items()
        ]
    )

    def node(_: MessagesState) -> dict[str, Any]:
        return {
            "messages": [AIMessage(tool.invoke({"x": "y"})[-1].text) for tool in (first, second)]
        }

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")

    done = graph.compile(checkpointer=sync_saver).invoke(GO, THREAD)

    assert [message.text for message in done["messages"]] == ["go", "b is through", "c is through"]
    assert oracle.lines == ["agent_b:y", "mail:b", "agent_c:y", "mail:c"]


async def test_control_the_bare_tool_node_starts_both_over(driver, oracle):
    app = bare_app("node", ScriptedChat(TURN), tools_of(driver.kind, oracle, None), driver.saver)

    await driver.invoke(app, GO)
    await driver.invoke(app, APPROVE)

    assert oracle.lines.count("agent_b:y") == 2
