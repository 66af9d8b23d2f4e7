"""Model replies of a turn, kept by the first writer: two workers that go on from one pause continue as one.

Without it both ask the model, get two messages with two ids, and the next tool runs twice. It also saves the
paid model call after a crash. A reply is found by thread, node path, step and the messages that the model was
shown.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from agent_adapter.errors import NotSealable
from agent_adapter.exec.integration import decode, encode, reachable_types, stable_hash
from agent_adapter_langgraph._call_ids import corrected
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._messages import MESSAGES, Known
from agent_adapter_langgraph._places import (
    Turn,
    asked_with,
    other_state,
    places,
    schema_specs,
    shown,
)
from agent_adapter_langgraph._scope import occurrences
from agent_adapter_langgraph._signals import stops
from agent_adapter_langgraph._visit import messages_of

logger = logging.getLogger(__name__)


class Replies:
    """The kept replies of one ledger.

    Args:
        core: where they are kept.
        keep: False only gives messages and calls their ids.
    """

    def __init__(self, core: Core, *, keep: bool) -> None:
        self._core = core
        self._keeps = keep

    def agent(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """A `create_agent` model call: its `ModelResponse`, kept or fresh."""
        turn = self._turn(get_config(), request.messages, asked_with(request))
        if turn is None:
            return _with_ids(handler(request), None)
        known = _known(request)
        kept = in_sync(self._kept(turn))
        if kept is None:
            response = _with_ids(handler(request), turn)
            kept = in_sync(self._keep(turn, _dump(response, known)))
            if kept is None:
                return response
        turn.asked()
        return _response(kept, known)

    async def aagent(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `agent`."""
        turn = self._turn(get_config(), request.messages, asked_with(request))
        if turn is None:
            return _with_ids(await handler(request), None)
        known = _known(request)
        kept = await self._kept(turn)
        if kept is None:
            response = _with_ids(await handler(request), turn)
            kept = await self._keep(turn, _dump(response, known))
            if kept is None:
                return response
        turn.asked()
        return _response(kept, known)

    def node(self, state: Any, config: RunnableConfig, ask: Callable[[], Any]) -> Any:
        """A model node's update, kept or fresh."""
        turn = self._turn(config, messages_of(state), other_state(state))
        if turn is None:
            return _identified(ask(), None)
        kept = in_sync(self._kept(turn))
        if kept is None:
            update = _identified(ask(), turn)
            kept = in_sync(self._keep(turn, _encoded(update, MESSAGES)))
            if kept is None:
                return update
        turn.asked()
        return decode(kept, known=MESSAGES)

    async def anode(
        self, state: Any, config: RunnableConfig, ask: Callable[[], Awaitable[Any]]
    ) -> Any:
        """As `node`."""
        turn = self._turn(config, messages_of(state), other_state(state))
        if turn is None:
            return _identified(await ask(), None)
        kept = await self._kept(turn)
        if kept is None:
            update = _identified(await ask(), turn)
            kept = await self._keep(turn, _encoded(update, MESSAGES))
            if kept is None:
                return update
        turn.asked()
        return decode(kept, known=MESSAGES)

    def _turn(self, config: RunnableConfig, messages: Sequence[Any], beside: str) -> Turn | None:
        """The place of this turn's reply; None when nothing could find it again, or none is kept."""
        visit = self._core.visit(config)
        if not self._keeps or not self._core.barrier.protects(visit):
            return None
        messages_shown = [shown(message, by_id=visit.run_name is None) for message in messages]
        digested = stable_hash(beside, str(visit.sent), *messages_shown)
        execution = (visit.thread, visit.namespace, visit.attempt, "reply")
        nth = str(occurrences.so_far(execution, "reply", digested))
        return Turn(places(visit, digested, nth), execution, digested)

    async def _kept(self, turn: Turn) -> Any | None:
        with stops():
            for place in turn.places:
                if (kept := await self._core.ledger.kept(place)) is not None:
                    return kept
            return None

    async def _keep(self, turn: Turn, reply: Any | None) -> Any | None:
        if reply is None:
            return None
        with stops():
            for place in turn.places:
                reply = await self._core.ledger.keep(place, reply)
            return reply


def _known(request: Any) -> Known:
    """Messages, and what the agent's response formats reach."""
    given = getattr(request, "response_format", None)
    schemas = [
        getattr(given, "schema", given),
        *(getattr(spec, "schema", None) for spec in schema_specs(request)),
    ]
    known = dict(MESSAGES)
    for schema in schemas:
        if isinstance(schema, type):
            known.update(reachable_types(schema))
    return known


def _dump(response: Any, known: Known) -> Any | None:
    """The response as plain JSON; None for one that cannot be kept exactly."""
    messages = getattr(response, "result", None)
    if not isinstance(messages, list):
        return None
    return _encoded({"messages": messages, "structured": response.structured_response}, known)


def _encoded(value: Any, known: Known) -> Any | None:
    """The value as plain JSON; None when it has no exact stored form: the turn goes on with it, a second worker does not."""
    try:
        encoded = encode(value)
        decode(encoded, known=known)
    except NotSealable as refused:
        logger.warning(
            "a model reply cannot be kept: %s; two workers that go on from one pause here would each ask the model",
            refused,
        )
        return None
    return encoded


def _response(kept: Any, known: Known) -> Any:
    from langchain.agents.middleware.types import ModelResponse

    read = decode(kept, known=known)
    return ModelResponse(result=read["messages"], structured_response=read["structured"])


def _with_ids(response: Any, turn: Turn | None) -> Any:
    messages = getattr(response, "result", None)
    if isinstance(messages, list):
        response.result = [_identify(message, turn, n) for n, message in enumerate(messages)]
    return response


def _identified(update: Any, turn: Turn | None) -> Any:
    """A node's update with an id on every message, and on every call of every message."""
    if isinstance(update, BaseMessage):
        return _identify(update, turn, 0)
    if isinstance(update, list):
        return [_identify(item, turn, n) for n, item in enumerate(update)]
    if isinstance(update, Mapping):
        return {
            key: _identified(value, turn) if _holds_messages(value) else value
            for key, value in update.items()
        }
    return update


def _holds_messages(value: Any) -> bool:
    return isinstance(value, BaseMessage) or (
        isinstance(value, list) and any(isinstance(m, BaseMessage) for m in value)
    )


def _identify(message: Any, turn: Turn | None, position: int) -> Any:
    """The message with an id, and with one of its own for every call: before it is kept, shown or run."""
    if not isinstance(message, BaseMessage):
        return message
    base = uuid.uuid4().hex if turn is None else turn.name
    name = message.id or f"reply-{stable_hash(base, str(position))[:32]}"
    named = message if message.id else message.model_copy(update={"id": name})
    return corrected(named, name) if isinstance(named, AIMessage) else named
