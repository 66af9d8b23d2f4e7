"""A tool that returns a message's `text`, as tools around sub-agents do: it is a text, and it is replayed as one."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from lg_scripted import GO, THREAD, interrupts


def test_a_wrapped_tool_may_return_it(durable, sync_saver, oracle):
    give, stop = durable.wrap(
        [
            oracle.tool("give", lambda _: AIMessage("said").text),
            oracle.tool("stop", lambda x: str(interrupt(x))),
        ]
    )

    def node(_: MessagesState) -> dict[str, Any]:
        given = give.invoke({"x": "it"})
        stop.invoke({"x": "here"})
        return {"messages": [AIMessage(given)]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    app = graph.compile(checkpointer=sync_saver)
    app.invoke(GO, THREAD)

    done = app.invoke(Command(resume="go on"), THREAD)

    assert interrupts(done) == []
    assert done["messages"][-1].text == "said"
    assert oracle.lines.count("give:it") == 1
