"""Workers for the published contract of bridges: whole LangGraph agents of a scene, in each of the three ways in."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from lg_scripted import (
    GO,
    THREAD,
    ScriptedChat,
    answers,
    ask,
    durable_app,
    interrupts,
    loop,
    replying,
    sqlite_saver,
)

from agent_adapter.testing.bridges import AskedCall, Outcome, Scene
from agent_adapter_langgraph import DurableTools


class WrappedWorker:
    """Wrapped tools in LangGraph's own node, `invoke`."""

    way = "wrapped"

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._saver = sqlite_saver(scene.folder / "graph.db")

    async def start(self) -> Outcome:
        return _outcome(await self._invoke(GO))

    async def resume(self) -> Outcome:
        return _outcome(await self._invoke(None))

    async def answer(self, given: Mapping[str, Any]) -> Outcome:
        answer: dict[str, Any] = {}
        for asked, said in given.items():
            interrupt, _, request = asked.partition("/")
            tool, _, request = request.partition("/")
            spelled = _spelled(said, tool)
            if request:
                answer.setdefault(interrupt, {})[request] = spelled
            else:
                answer[interrupt] = spelled
        return _outcome(await self._invoke(Command(resume=answer)))

    async def close(self) -> None:
        self._saver.conn.close()

    async def _invoke(self, given: Any) -> Any:
        return await asyncio.to_thread(self._app(self._saver).invoke, given, THREAD)

    def _app(self, saver: Any) -> Any:
        return durable_app(self.way, self._durable(), self._chat(), self._tools(), saver)

    def _durable(self) -> DurableTools:
        scene = self._scene
        return DurableTools(scene.store(), policies=scene.policies, claim_wait_s=scene.claim_wait_s)

    def _chat(self) -> ScriptedChat:
        def reply(number: int, _: list[Any]) -> Any:
            asked = self._scene.reply(number)
            return ask(*((call.name, dict(call.arguments), call.id) for call in asked))

        return ScriptedChat(*(functools.partial(reply, n) for n in range(len(self._scene.turns))))

    def _tools(self) -> list[BaseTool]:
        """Tools whose exceptions are answers for the model by their own setting."""
        return [
            _tool(name, _raising_for_the_model(function))
            for name, function in self._scene.tools.items()
        ]


class NodeWorker(WrappedWorker):
    """A `tool_node` that makes answers of exceptions, `invoke`."""

    def _app(self, saver: Any) -> Any:
        durable = self._durable()
        tools = [_tool(name, function) for name, function in self._scene.tools.items()]
        node = durable.tool_node(tools, handle_tool_errors=True)
        return loop(durable.turn(replying(self._chat())), node, saver)


class AgentWorker(WrappedWorker):
    """`create_agent`, `ainvoke`."""

    way = "agent"

    async def _invoke(self, given: Any) -> Any:
        path = str(self._scene.folder / "graph.db")
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            return await self._app(saver).ainvoke(given, THREAD)


def _tool(name: str, function: Callable[..., Awaitable[Any]]) -> BaseTool:
    """The function as a tool for both drivers."""

    @functools.wraps(function)
    def run(**arguments: Any) -> Any:
        return asyncio.run(_awaited(function(**arguments)))

    return StructuredTool.from_function(
        run, function, name=name, description=name, handle_tool_error=True
    )


async def _awaited(doing: Awaitable[Any]) -> Any:
    return await doing


def _raising_for_the_model(function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(amount: int) -> Any:
        try:
            return await function(amount)
        except ValueError as error:
            raise ToolException(str(error)) from error

    return run


def _spelled(said: Any, tool: str) -> Any:
    """An edit in LangChain's words; everything else is the same there."""
    match said:
        case {"type": "edit", "args": dict(arguments)}:
            return {"type": "edit", "edited_action": {"name": tool, "args": arguments}}
    return said


def _outcome(state: Any) -> Outcome:
    asked = []
    for each in interrupts(state):
        requests = each.value["request_ids"]
        for n, action in enumerate(each.value["action_requests"]):
            name = f"{each.id}/{action['name']}"
            asked.append(
                AskedCall(
                    id=f"{name}/{requests[n]}" if len(requests) > 1 else name,
                    call=each.value["tool_call_ids"][n],
                    tool=action["name"],
                    arguments=action["args"],
                    cause=each.value["causes"][n],
                )
            )
    last = state["messages"][-1]
    over = not asked and last.type == "ai" and not last.tool_calls
    return Outcome(tuple(asked), answers(state), over)
