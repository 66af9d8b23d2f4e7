"""A hand-off beside ordinary calls: the parent graph gets the model's message and every answer of the turn."""

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, bare_app, loop, replying

TURN = ask(("book", "room", "c1"), ("hand_over", {}, "c2"))


def tools_of(oracle: Oracle) -> list[Any]:
    @tool
    def hand_over(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Hand over."""
        oracle.write("hand_over")
        message = ToolMessage("handed over", tool_call_id=tool_call_id)
        return Command(goto="other", graph=Command.PARENT, update={"messages": [message]})

    return [oracle.tool("book"), hand_over]


def under_a_parent(child: Any, saver: Any) -> Any:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("child", child, destinations=("other",))
    graph.add_node("other", lambda _: {"messages": [AIMessage("other speaks")]})
    graph.add_edge(START, "child")
    return graph.compile(checkpointer=saver)


async def test_tool_node_keeps_the_turn(driver, durable, oracle):
    child = loop(
        durable.turn(replying(ScriptedChat(TURN))), durable.tool_node(tools_of(oracle)), None
    )
    app = under_a_parent(child, driver.saver)

    done = await driver.invoke(app, GO)

    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "tool", "ai"]
    assert answers(done) == {"c1": "book room done", "c2": "handed over"}
    assert done["messages"][1].tool_calls[0]["id"] == "c1"
    assert sorted(oracle.lines) == ["book:room", "hand_over"]


async def test_an_agent_hands_over_once_and_repeats_nothing(driver, durable, oracle):
    child = create_agent(ScriptedChat(TURN), tools_of(oracle), middleware=durable.middleware())

    done = await driver.invoke(under_a_parent(child, driver.saver), GO)

    assert sorted(oracle.lines) == ["book:room", "hand_over"]
    assert answers(done)["c2"] == "handed over"
    assert done["messages"][-1].text == "other speaks"


async def test_an_agent_keeps_the_turn(driver, durable, oracle):
    child = create_agent(ScriptedChat(TURN), tools_of(oracle), middleware=durable.middleware())

    done = await driver.invoke(under_a_parent(child, driver.saver), GO)

    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "tool", "ai"]
    assert answers(done) == {"c1": "book room done", "c2": "handed over"}


async def test_control_the_bare_tool_node_loses_the_turn(driver, oracle):
    child = bare_app("node", ScriptedChat(TURN), tools_of(oracle), None)

    done = await driver.invoke(under_a_parent(child, driver.saver), GO)

    assert answers(done) == {"c2": "handed over"}
    assert not any(getattr(message, "tool_calls", None) for message in done["messages"])
