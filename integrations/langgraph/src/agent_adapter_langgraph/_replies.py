"""Model replies of a turn, kept by the first writer: two workers that go on from one pause continue as one.

Without it both ask the model, get two messages with two ids, and the next tool runs twice. It also saves the
paid model call after a crash. A reply is found by thread, node path, step and the messages that the model was
shown.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from agent_adapter.errors import NotSealable
from agent_adapter.exec.integration import CallId, decode, encode, reachable_types
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._drive import in_sync
from agent_adapter_langgraph._identity import (
    Visit,
    as_stored,
    calls_of,
    get,
    messages_of,
    occurrences,
    stable_hash,
)
from agent_adapter_langgraph._messages import MESSAGES, Known
from agent_adapter_langgraph._signals import stops


class Replies:
    """The kept replies of one ledger."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def agent(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """A `create_agent` model call: its `ModelResponse`, kept or fresh."""
        turn = self._turn(get_config(), request.messages)
        known = _known(request)
        if turn is None:
            return handler(request)
        if (kept := in_sync(self._kept(turn))) is not None:
            return _response(kept, known)
        response = _with_ids(handler(request), turn)
        return _response(in_sync(self._keep(turn, _dump(response, known))), known, response)

    async def aagent(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `agent`."""
        turn = self._turn(get_config(), request.messages)
        known = _known(request)
        if turn is None:
            return await handler(request)
        if (kept := await self._kept(turn)) is not None:
            return _response(kept, known)
        response = _with_ids(await handler(request), turn)
        return _response(await self._keep(turn, _dump(response, known)), known, response)

    def node(self, state: Any, config: RunnableConfig, ask: Callable[[], Any]) -> Any:
        """A model node's update, kept or fresh."""
        turn = self._turn(config, messages_of(state))
        if turn is None:
            return ask()
        if (kept := in_sync(self._kept(turn))) is not None:
            return decode(kept, known=MESSAGES)
        update = _identified(ask(), turn)
        encoded = _encoded(update, MESSAGES)
        return (
            update
            if encoded is None
            else decode(in_sync(self._keep(turn, encoded)), known=MESSAGES)
        )

    async def anode(
        self, state: Any, config: RunnableConfig, ask: Callable[[], Awaitable[Any]]
    ) -> Any:
        """As `node`."""
        turn = self._turn(config, messages_of(state))
        if turn is None:
            return await ask()
        if (kept := await self._kept(turn)) is not None:
            return decode(kept, known=MESSAGES)
        update = _identified(await ask(), turn)
        encoded = _encoded(update, MESSAGES)
        return (
            update if encoded is None else decode(await self._keep(turn, encoded), known=MESSAGES)
        )

    def _turn(self, config: RunnableConfig, messages: Sequence[Any]) -> CallId | None:
        """The place of this turn's reply; None when nothing could find it again."""
        visit = self._core.visit(config)
        if not self._core.barrier.protects(visit):
            return None
        shown = [_shown(message, by_id=visit.run_name is None) for message in messages]
        digested = stable_hash(*shown)
        nth = str(
            occurrences.next(
                (visit.thread, visit.namespace, visit.attempt, "reply"), "reply", digested
            )
        )
        run = _place(visit, digested, nth)
        return CallId(
            run=run,
            name=visit.listing,
            key="reply",
            call_id="reply",
            tool="model",
            digest=digested,
            scope="",
        )

    async def _kept(self, turn: CallId) -> Any | None:
        with stops():
            return await self._core.ledger.kept(turn)

    async def _keep(self, turn: CallId, reply: Any | None) -> Any | None:
        if reply is None:
            return None
        with stops():
            return await self._core.ledger.keep(turn, reply)


def _place(visit: Visit, digested: str, nth: str) -> str:
    if visit.run_name is not None:
        return f"lg-{stable_hash('named-reply', visit.run_name, visit.path, digested, nth)}"
    # The step keeps a loop that asks again with the same messages apart from a second worker at the same turn.
    return f"lg-{stable_hash('reply', visit.thread, visit.path, str(visit.step), digested, nth)}"


def _shown(message: Any, *, by_id: bool) -> str:
    """What tells this message from others: its id; a tool's answer by its call and content, since its id may be new."""
    kind, name = str(get(message, "type")), get(message, "id")
    if by_id and name and kind != "tool":
        return f"{kind}:{name}"
    content = str(as_stored(get(message, "content")))
    if kind == "tool":
        return stable_hash(kind, str(get(message, "tool_call_id")) if by_id else "", content)
    calls = [
        (str(call.get("name")), str(as_stored(call.get("args")))) for call in calls_of(message)
    ]
    return stable_hash(kind, content, *(part for call in calls for part in call))


def _known(request: Any) -> Known:
    schema = getattr(getattr(request, "response_format", None), "schema", None)
    return {**MESSAGES, **(reachable_types(schema) if isinstance(schema, type) else {})}


def _dump(response: Any, known: Known) -> Any | None:
    """The response as plain JSON; None for one that cannot be kept exactly: the turn then goes on with the model's own."""
    messages = getattr(response, "result", None)
    if not isinstance(messages, list):
        return None
    return _encoded({"messages": messages, "structured": response.structured_response}, known)


def _encoded(value: Any, known: Known) -> Any | None:
    try:
        encoded = encode(value)
        decode(encoded, known=known)
    except NotSealable:
        return None
    return encoded


def _response(kept: Any | None, known: Known, fresh: Any = None) -> Any:
    from langchain.agents.middleware.types import ModelResponse

    if kept is None:
        return fresh
    read = decode(kept, known=known)
    return ModelResponse(result=read["messages"], structured_response=read["structured"])


def _with_ids(response: Any, turn: CallId) -> Any:
    messages = getattr(response, "result", None)
    if isinstance(messages, list):
        response.result = [_identify(message, turn, n) for n, message in enumerate(messages)]
    return response


def _identified(update: Any, turn: CallId) -> Any:
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


def _identify(message: Any, turn: CallId, position: int) -> Any:
    """The message with an id, and with one of its own for every call: before it is kept, shown or run."""
    if not isinstance(message, BaseMessage):
        return message
    name = message.id or f"reply-{stable_hash(turn.run, str(position))[:32]}"
    changes: dict[str, Any] = {} if message.id else {"id": name}
    if isinstance(message, AIMessage) and message.tool_calls:
        calls, ids = [], set[str]()
        for n, call in enumerate(message.tool_calls):
            known = (
                call["id"]
                if call["id"] and call["id"] not in ids
                else f"call-{stable_hash(name, str(n))[:24]}"
            )
            ids.add(known)
            calls.append({**call, "id": known})
        if [call["id"] for call in calls] != [call["id"] for call in message.tool_calls]:
            changes["tool_calls"] = calls
    return message.model_copy(update=changes) if changes else message
