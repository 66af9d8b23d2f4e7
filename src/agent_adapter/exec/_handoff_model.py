"""HandoffModel: after a handoff the agent that was handed to has the last word."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from agent_adapter.models import Model, ModelChunk, ModelReply, ModelRequest

__all__ = ["HandoffModel"]

HANDOFF = "handoff"


class HandoffModel:
    """A model that ends the conversation with the answer of a tool tagged "handoff", and asks `model` otherwise.

    The answer is the result of the first call, in call order, of the last assistant message whose tool the request
    shows with that tag and whose status is "ok": a handoff that failed, was denied or is pending is left to the model.
    Nothing is remembered, so a recovered run decides the same.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def generate(self, request: ModelRequest) -> ModelReply:
        """The handoff's answer as a final reply that used nothing, else the model's reply."""
        answer = _answer(request)
        return await self._model.generate(request) if answer is None else answer

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The handoff's answer as exactly one chunk, else the model's own stream."""
        answer = _answer(request)
        return self._model.stream(request) if answer is None else _one_chunk(answer)

    def cache_key_fields(self) -> Mapping[str, Any]:
        """Those of the model: what this adds depends on the request alone."""
        return self._model.cache_key_fields()


async def _one_chunk(reply: ModelReply) -> AsyncIterator[ModelChunk]:
    yield ModelChunk(reply.text, reply)


def _answer(request: ModelRequest) -> ModelReply | None:
    """The answer of the handoff that the last assistant message asked for, None when there is none."""
    asked = [at for at, message in enumerate(request.messages) if message.role == "assistant"]
    if not asked:
        return None
    after = request.messages[asked[-1] + 1 :]
    results = {message.call_id: message for message in after if message.role == "tool"}
    handoffs = {spec.name for spec in request.tools if HANDOFF in spec.tags}
    for call in request.messages[asked[-1]].calls:
        result = results.get(call.id)
        if call.name in handoffs and result is not None and result.status == "ok":
            return ModelReply(result.content)
    return None
