"""ScriptedModel: a model that plays given replies, for tests of whatever asks models."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agent_adapter.calls import ToolCall
from agent_adapter.errors import ModelError, ToolUsageError
from agent_adapter.models import ModelChunk, ModelReply, ModelRequest

__all__ = ["ScriptedModel"]

_Scripted = ModelReply | str | Sequence[ToolCall] | BaseException | Callable[[ModelRequest], Any]

_PIECES = re.compile(r"\S+\s*|\s+")


class ScriptedModel:
    """A `Model` that gives these replies one after the other, and raises those that are exceptions.

    Args:
        replies: each a `ModelReply`, a final text, the tool calls to ask for, an exception to raise, or a function (sync
            or async) that is given the request and returns one of these.
        by_history: take the reply whose number is that of the assistant messages in the request, so that a model made
            anew in another process goes on where the conversation is.
        name: what tells it from other scripted models.

    Attributes:
        requests: every request so far, in the order in which they came.
    """

    def __init__(
        self, replies: Sequence[_Scripted], *, by_history: bool = False, name: str = "scripted"
    ) -> None:
        self.requests: list[ModelRequest] = []
        self._replies = list(replies)
        self._by_history = by_history
        self._name = name

    async def generate(self, request: ModelRequest) -> ModelReply:
        """The reply whose turn it is.

        Raises:
            ModelError: there are fewer replies than requests.
            ToolUsageError: something in the script is no reply.
        """
        turn = len(self.requests)
        if self._by_history:
            turn = sum(message.role == "assistant" for message in request.messages)
        self.requests.append(request)
        if turn >= len(self._replies):
            given = len(self._replies)
            raise ModelError(
                f"model {self._name!r}: {given} replies were given, and reply {turn + 1} was asked for"
            )
        scripted = self._replies[turn]
        if callable(scripted):
            scripted = scripted(request)
            if inspect.isawaitable(scripted):
                scripted = await scripted
        return _reply(scripted)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The text of the reply word by word, then the whole reply.

        Raises:
            ModelError: there are fewer replies than requests.
            ToolUsageError: something in the script is no reply.
        """
        reply = await self.generate(request)
        for piece in _PIECES.findall(reply.text):
            yield ModelChunk(piece)
        yield ModelChunk(reply=reply)

    def cache_key_fields(self) -> Mapping[str, Any]:
        """Its name."""
        return {"provider": "scripted", "name": self._name}


def _reply(scripted: Any) -> ModelReply:
    match scripted:
        case ModelReply():
            return scripted
        case str():
            return ModelReply(scripted)
        case list() | tuple() if all(isinstance(call, ToolCall) for call in scripted):
            return ModelReply(calls=tuple(scripted))
        case BaseException():
            raise scripted
    raise ToolUsageError(
        "a scripted reply is a ModelReply, a text, a list of ToolCalls, an exception, or a function that returns "
        f"one of these, not {scripted!r}"
    )
