"""`create_agent` middleware: the outermost part answers tool calls from the record, the innermost keeps model replies."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.errors import ParentCommand
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent_adapter_langgraph._core import Core, Guard
from agent_adapter_langgraph._handoff import is_handoff, with_siblings
from agent_adapter_langgraph._identity import ToolUse
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._messages import known_types, load
from agent_adapter_langgraph._repair import repair
from agent_adapter_langgraph._replies import Replies
from agent_adapter_langgraph._signals import stops
from agent_adapter_langgraph._tool_node import probed
from agent_adapter_langgraph._visit import Visit, messages_of

# How long a sibling that has not begun is waited for before a hand-off: LangGraph ends it with this graph's run.
SIBLING_WAIT_S = 3.0


class DurableToolCalls(AgentMiddleware[Any, Any, Any]):
    """Belongs first in the list: everything that other middleware does around a finished call is not done again."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self._core = core

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """The call's result: from the record, or through the handler with a probe before the tool."""
        visit, use = self._use(request)
        protection = self._core.protection(visit, use)
        if protection != "recorded":
            return handler(
                probed(request, Guard(self._core)) if protection == "read_only" else request
            )
        name = self._core.identify(visit, use, messages_of(request.state))
        self._core.barrier.wait(visit)
        call = self._core.call(visit, use, name, in_sync(self._core.answers(visit, [name])))
        try:
            result = self._core.drive.run(call, lambda running: handler(probed(request, running)))
        except ParentCommand as handoff:
            raise ParentCommand(in_sync(self._with_turn(visit, request, handoff.args[0]))) from None
        return in_sync(self._with_turn(visit, request, result)) if is_handoff(result) else result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """As `wrap_tool_call`."""
        visit, use = self._use(request)
        protection = self._core.protection(visit, use)
        if protection != "recorded":
            return await handler(
                probed(request, Guard(self._core)) if protection == "read_only" else request
            )
        name = self._core.identify(visit, use, messages_of(request.state))
        await self._core.barrier.await_(visit)
        call = self._core.call(visit, use, name, await self._core.answers(visit, [name]))
        try:
            result = await self._core.drive.arun(
                call, lambda running: handler(probed(request, running))
            )
        except ParentCommand as handoff:
            raise ParentCommand(await self._with_turn(visit, request, handoff.args[0])) from None
        return await self._with_turn(visit, request, result) if is_handoff(result) else result

    def _use(self, request: ToolCallRequest) -> tuple[Visit, ToolUse]:
        wanted = request.tool_call
        use = ToolUse(request.tool, wanted["name"], wanted["id"], wanted["args"])
        return self._core.visit(request.runtime.config), use

    async def _with_turn(self, visit: Visit, request: ToolCallRequest, handoff: Any) -> Any:
        """The hand-off with the model's message and its siblings' answers: LangGraph drops them with this graph's run."""
        messages = messages_of(request.state)
        turn = next(
            (m for m in reversed(messages) if isinstance(m, AIMessage) and _asks(m, request)), None
        )
        answers: list[Any] = []
        for wanted in turn.tool_calls if turn is not None else ():
            use = ToolUse(
                self._tool(request, wanted["name"]), wanted["name"], wanted["id"], wanted["args"]
            )
            if (
                wanted["id"] != request.tool_call["id"]
                and self._core.protection(visit, use) == "recorded"
            ):
                answers.extend(await self._answer(visit, use, messages))
        return with_siblings(handoff, turn, answers)

    async def _answer(self, visit: Visit, use: ToolUse, messages: list[Any]) -> list[Any]:
        with stops():
            name = self._core.identify(visit, use, messages)
            outcome = await self._core.ledger.outcome(name, wait_s=SIBLING_WAIT_S)
            if outcome is None or outcome["kind"] == "parent":
                return []
            known = known_types(use.tool, self._core.types)
            return [
                load(outcome, known, tool=use.name, call_id=use.model_id, namespace=visit.namespace)
            ]

    @staticmethod
    def _tool(request: ToolCallRequest, name: str) -> Any:
        return next((tool for tool in request.runtime.tools or () if tool.name == name), None)


class RepairingToolCalls(DurableToolCalls):
    """Also shows the model an answer for every call that a stopped run left without one; the state stays as it is."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The model's reply to the repaired messages."""
        return handler(request.override(messages=in_sync(self._repaired(request))))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap_model_call`."""
        return await handler(request.override(messages=await self._repaired(request)))

    async def _repaired(self, request: Any) -> list[Any]:
        with stops():
            return await repair(self._core, request.messages, self._core.visit(get_config()).thread)


class DurableReplies(AgentMiddleware[Any, Any, Any]):
    """Belongs last in the list: it keeps what the model itself replied, and other middleware sees it as if fresh."""

    def __init__(self, replies: Replies) -> None:
        super().__init__()
        self._replies = replies

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """The turn's reply: the one that was kept first, or the model's."""
        return self._replies.agent(request, handler)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap_model_call`."""
        return await self._replies.aagent(request, handler)


def _asks(message: AIMessage, request: ToolCallRequest) -> bool:
    return any(call["id"] == request.tool_call["id"] for call in message.tool_calls)


def parts(
    core: Core, replies: Replies, *, repairs: bool
) -> tuple[list[AgentMiddleware[Any, Any, Any]], list[AgentMiddleware[Any, Any, Any]]]:
    """The parts that belong outermost and innermost."""
    return [_outermost(core, repairs=repairs)], [DurableReplies(replies)]


def _outermost(core: Core, *, repairs: bool) -> DurableToolCalls:
    if core.policies.asking:
        # Only where something asks: the hook makes a node of the graph, and so a checkpoint of each turn.
        from agent_adapter_langgraph._turn_gate import GatingRepairingToolCalls, GatingToolCalls

        return GatingRepairingToolCalls(core) if repairs else GatingToolCalls(core)
    return RepairingToolCalls(core) if repairs else DurableToolCalls(core)
