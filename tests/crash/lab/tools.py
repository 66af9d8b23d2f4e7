"""The tools, the scripted model and the hooks of the scenarios; each passes its points."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.types import interrupt
from points import hit
from pydantic import BaseModel
from record import Record

from agent_adapter import Tool, tool

# What the model asks for, turn by turn: the tool and its one argument, which no other call has.
Script = Sequence[Sequence[tuple[str, str]]]


class Order(BaseModel):
    """The one argument of every tool."""

    order: str


def effect(record: Record, order: str) -> str:
    """Take effect, with a point on either side."""
    hit(f"body before effect {order}")
    record.add("effects", order=order)
    hit(f"body after effect {order}")
    return f"done {order}"


def charge(record: Record) -> BaseTool:
    """A tool that takes effect."""

    def run(order: str) -> str:
        return effect(record, order)

    return _both("charge", run)


def ask(record: Record) -> BaseTool:
    """A tool that asks a person in its own body, and then takes effect."""

    def run(order: str) -> str:
        record.add("told", order=order, answer=interrupt({"ask": order}))
        return effect(record, order)

    return _both("ask", run)


def flaky(record: Record) -> BaseTool:
    """A tool that asks for a plain yes in its own body, takes effect, and then raises."""

    def run(order: str) -> str:
        record.add("told", order=order, answer=interrupt({"ask": order, "plain": True}))
        effect(record, order)
        raise RuntimeError(f"flaky {order}")

    return _both("flaky", run)


def executor_charge(record: Record) -> Tool:
    """As `charge`, for an executor."""

    @tool(name="charge")
    def run(order: str) -> str:
        return effect(record, order)

    return run


def outcome(tool: BaseTool, order: str) -> tuple[str, str]:
    """What a tool that is called with plain arguments returned, or why a person refused it."""
    try:
        return order, tool.invoke({"order": order})
    except ToolException as refused:
        return order, str(refused)


async def aoutcome(tool: BaseTool, order: str) -> tuple[str, str]:
    """As `outcome`, async."""
    try:
        return order, await tool.ainvoke({"order": order})
    except ToolException as refused:
        return order, str(refused)


def reply(record: Record, script: Script, messages: Sequence[Any]) -> AIMessage:
    """The model's next reply: new ids each time it is asked, as real models do."""
    turn = sum(isinstance(message, AIMessage) for message in messages)
    hit(f"model before turn {turn}")
    record.add("turns", turn=turn)
    calls = script[turn] if turn < len(script) else ()
    message = AIMessage(
        content="" if calls else "all done",
        tool_calls=[
            {"name": name, "args": {"order": order}, "id": f"call-{uuid.uuid4().hex[:8]}"}
            for name, order in calls
        ],
    )
    hit(f"model after turn {turn}")
    return message


class ScriptedModel(BaseChatModel):
    """A chat model that follows the script."""

    record: Any
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        message = reply(self.record, self.script, messages)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Watch(AgentMiddleware[Any, Any, Any]):
    """Points around what the handler runs, as any middleware between ours has them."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        hit("middleware before tool")
        result = handler(request)
        hit("middleware after tool")
        return result

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        hit("middleware before tool")
        result = await handler(request)
        hit("middleware after tool")
        return result


def _both(name: str, run: Callable[[str], str]) -> BaseTool:
    async def arun(order: str) -> str:
        return run(order)

    return StructuredTool.from_function(run, arun, name=name, description=name, args_schema=Order)
