"""A chat model as providers make them: it binds tools, streams what it is told to, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from agent_adapter import ToolCall
from agent_adapter.models import Message, ModelChunk, ModelRequest

USER = Message("user", "go")


class Provider(GenericFakeChatModel):
    """Plays replies in order: a text, an `AIMessage`, a list of chunks to stream, or an exception to raise (also as a chunk).

    `seen` are the messages that it was shown and `bound` what was bound to it, one for each request; `closed` is set
    when a stream has ended.
    """

    temperature: float = 0.0
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _closed: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    def __init__(self, *replies: Any, **settings: Any) -> None:
        super().__init__(messages=iter(replies), **settings)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def bound(self) -> list[dict[str, Any]]:
        return self._bound

    @property
    def closed(self) -> asyncio.Event:
        return self._closed

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(tools=tools, **options)

    def _note(self, messages: list[BaseMessage], options: dict[str, Any]) -> None:
        self._seen.append(messages)
        self._bound.append(options)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        self._note(messages, options)
        return super()._generate(messages, stop, run_manager)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        # On the loop itself: a signal raised here reaches the caller as it is.
        self._note(messages, options)
        reply = next(self.messages)
        if isinstance(reply, BaseException):
            raise reply
        self.messages = iter([reply, *self.messages])
        return super()._generate(messages, stop, run_manager)

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._note(messages, options)
        try:
            for chunk in next(self.messages):  # type: ignore[union-attr]
                if isinstance(chunk, BaseException):
                    raise chunk
                yield ChatGenerationChunk(
                    message=AIMessageChunk(chunk) if isinstance(chunk, str) else chunk
                )
        finally:
            self._closed.set()


def asking(*messages: Message, **rest: Any) -> ModelRequest:
    """A request that goes on from the user's "go"."""
    return ModelRequest(messages=(USER, *messages), **rest)


def calls(*given: tuple[str, dict[str, Any], str | None], **rest: Any) -> AIMessage:
    """LangChain's message that asks for these calls: name, arguments, id."""
    made = [{"name": name, "args": arguments, "id": call_id} for name, arguments, call_id in given]
    return AIMessage("", tool_calls=made, **rest)


def half_call(name: str | None, arguments: str, call_id: str | None, index: int = 0) -> Any:
    """A chunk with a part of a call."""
    part = {"name": name, "args": arguments, "id": call_id, "index": index}
    return AIMessageChunk("", tool_call_chunks=[part])


async def streamed(model: Any, request: ModelRequest) -> list[ModelChunk]:
    """All chunks of the reply."""
    return [chunk async for chunk in model.stream(request)]


ASKED = (ToolCall("a", "look", {"x": 1}), ToolCall("b", "look", {"x": 1}))
