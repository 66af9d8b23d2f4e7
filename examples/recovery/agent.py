"""A LangGraph agent with a scripted model; the line that makes its tools durable is the only difference."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from script import LAST_WORDS, WISHES

from agent_adapter_langgraph import DurableTools


def build(
    folder: Path,
    tools: Sequence[Callable[..., Any]],
    checkpointer: BaseCheckpointSaver[Any],
    *,
    durable: bool,
) -> Any:
    """The compiled graph: the model asks for three calls in one turn, and then says that it is done."""
    tool_node = ToolNode(tools)
    if durable:
        tool_node = DurableTools(folder / "runs.db").tool_node(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", scripted_model)
    graph.add_node("tools", tool_node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


def scripted_model(state: MessagesState) -> dict[str, Any]:
    """The model's reply: the calls, or the end once they are answered."""
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage(LAST_WORDS)]}
    return {"messages": [AIMessage("", tool_calls=WISHES)]}
