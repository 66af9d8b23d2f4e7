"""Scripted chat models, tools that leave a line in a file, and small graphs around them: for tests and their children."""

import inspect
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import PrivateAttr

from agent_adapter_langgraph import DurableTools

THREAD: dict[str, Any] = {"configurable": {"thread_id": "thread"}}
GO: dict[str, Any] = {"messages": [HumanMessage("go", id="go")]}


def ask(*calls: tuple[str, Any, str | None]) -> AIMessage:
    """A model message that asks for these calls: name, arguments (a str means `{"x": …}`), call id."""
    return AIMessage(
        content="",
        tool_calls=[
            {
                "name": name,
                "args": {"x": args} if isinstance(args, str) else args,
                "id": name_of_call,
            }
            for name, args, name_of_call in calls
        ],
    )


class ScriptedChat(BaseChatModel):
    """Plays its n-th reply where the history holds n model messages, and "done" after the last; `seen` is what it was shown."""

    replies: list[Any]
    _seen: list[list[Any]] = PrivateAttr(default_factory=list)

    def __init__(self, *replies: AIMessage | Callable[[list[Any]], AIMessage]) -> None:
        super().__init__(replies=list(replies))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def seen(self) -> list[list[Any]]:
        return self._seen

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedChat":
        return self

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        self._seen.append(list(messages))
        turn = sum(isinstance(message, AIMessage) for message in messages)
        reply = self.replies[turn] if turn < len(self.replies) else AIMessage("done")
        made = reply(messages) if callable(reply) else reply.model_copy(deep=True)
        return ChatResult(generations=[ChatGeneration(message=made)])


class Oracle:
    """A file in which every effect is a line that is on disk before the tool goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []

    def tool(self, name: str, then: Callable[[str], Any] | None = None) -> BaseTool:
        """A tool `name(x)` with the effect `name:x`, which returns `name x done`, or what `then(x)` returns or raises."""

        def run(x: str) -> Any:
            self.write(f"{name}:{x}")
            return then(x) if then else f"{name} {x} done"

        async def arun(x: str) -> Any:
            self.write(f"{name}:{x}")
            assert then is not None
            return await then(x)

        made = {"coroutine": arun} if inspect.iscoroutinefunction(then) else {"func": run}
        return StructuredTool.from_function(**made, name=name, description=name)


def loop(model: Callable[..., Any], tools: Any, saver: Any) -> Any:
    """A compiled graph: the model and the tools in turn until the model asks for no more calls."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def replying(chat: ScriptedChat) -> Callable[[MessagesState], Any]:
    """A model node."""
    return lambda state: {"messages": [chat.invoke(state["messages"])]}


def durable_app(
    way: str,
    durable: DurableTools,
    chat: ScriptedChat,
    tools: Sequence[Any],
    saver: Any,
    *inside: Any,
) -> Any:
    """An agent of these tools, protected by way of `node`, `agent` or `wrapped`."""
    if way == "agent":
        return create_agent(
            chat, list(tools), middleware=durable.middleware(*inside), checkpointer=saver
        )
    node = (
        durable.tool_node(tools)
        if way == "node"
        else ToolNode(durable.wrap(tools), handle_tool_errors=False)
    )
    return loop(durable.turn(replying(chat)), node, saver)


def bare_app(way: str, chat: ScriptedChat, tools: Sequence[Any], saver: Any, *inside: Any) -> Any:
    """The same without protection: what LangGraph does by itself."""
    if way == "agent":
        return create_agent(chat, list(tools), middleware=inside, checkpointer=saver)
    return loop(replying(chat), ToolNode(tools, handle_tool_errors=False), saver)


def sqlite_saver(path: Path, kind: type[SqliteSaver] = SqliteSaver) -> SqliteSaver:
    """A checkpointer on this file; closing its `conn` is the caller's."""
    return kind(sqlite3.connect(path, check_same_thread=False))


def answers(state: Any) -> dict[str, str]:
    """The content of each tool message in the state, by call id."""
    found = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert len({message.tool_call_id for message in found}) == len(found), found
    return {message.tool_call_id: message.text for message in found}


def interrupts(state: Any) -> list[Any]:
    """The open interrupts that an invocation returned."""
    return list(state.get("__interrupt__", ()))


def causes(state: Any) -> list[str]:
    """Why each call in doubt is asked about, over all open interrupts."""
    return [cause for interrupt in interrupts(state) for cause in interrupt.value.get("causes", ())]
