"""Model replies of a turn, kept by the first writer: two workers that go on from one pause continue as one.

Without it both ask the model, get two messages with two ids, and the next tool runs twice. It also saves the
paid model call after a crash. A reply is found by thread, node path, step and the messages that the model was
shown.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from agent_adapter.errors import NotSealable
from agent_adapter.exec.integration import CallId, decode, digest, encode, reachable_types
from agent_adapter_langgraph._call_ids import corrected
from agent_adapter_langgraph._compat import steps_so_far
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._identity import as_stored
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._messages import MESSAGES, Known
from agent_adapter_langgraph._scope import occurrences
from agent_adapter_langgraph._signals import stops
from agent_adapter_langgraph._visit import Visit, calls_of, get, messages_of, stable_hash

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Turn:
    """The place of one turn's reply.

    Attributes:
        places: where it is looked for, in this order, and kept.
        execution: whose turns are counted.
        digest: what the model is shown.
    """

    places: tuple[CallId, ...]
    execution: tuple[str, ...]
    digest: str

    @property
    def name(self) -> str:
        """What the ids of the reply's messages are made of."""
        return self.places[0].run

    def asked(self) -> None:
        """The model has replied: an equal turn from now on is another one."""
        occurrences.next(self.execution, "reply", self.digest)


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
        turn = self._turn(get_config(), request.messages, _asked_with(request))
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
        turn = self._turn(get_config(), request.messages, _asked_with(request))
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
        turn = self._turn(config, messages_of(state), _other_state(state))
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
        turn = self._turn(config, messages_of(state), _other_state(state))
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

    def _turn(
        self, config: RunnableConfig, messages: Sequence[Any], asked_with: str
    ) -> Turn | None:
        """The place of this turn's reply; None when nothing could find it again, or none is kept."""
        visit = self._core.visit(config)
        if not self._keeps or not self._core.barrier.protects(visit):
            return None
        shown = [_shown(message, by_id=visit.run_name is None) for message in messages]
        digested = stable_hash(asked_with, str(visit.sent), *shown)
        execution = (visit.thread, visit.namespace, visit.attempt, "reply")
        nth = str(occurrences.so_far(execution, "reply", digested))
        places = tuple(
            CallId(
                run=run,
                name=visit.listing,
                key="reply",
                call_id="reply",
                tool="model",
                digest=digested,
                scope="",
            )
            for run in _places(visit, digested, nth)
        )
        return Turn(places, execution, digested)

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


def _places(visit: Visit, digested: str, nth: str) -> list[str]:
    """The runs under which a turn's reply is found.

    The step keeps a loop that asks again with the same messages apart from a second worker at the same turn. A named
    request may be delivered to a thread that has gone further, so there the steps are also counted from its beginning.
    """
    if visit.run_name is None:
        return [
            f"lg-{stable_hash('reply', visit.thread, visit.path, str(visit.step), digested, nth)}"
        ]
    steps = dict.fromkeys(
        (f"step {visit.step}", f"after {steps_so_far(visit.configurable, visit.step)}")
    )
    return [
        f"lg-{stable_hash('named-reply', visit.run_name, visit.path, step, digested, nth)}"
        for step in steps
    ]


def _asked_with(request: Any) -> str:
    """What else tells one model call from another: two agents of one node may be shown the same messages."""
    tools = [str(get(tool, "name") or tool) for tool in request.tools or ()]
    formats = [str(get(kind, "name")) for kind in _schema_specs(request)]
    system = str(get(request.system_message, "content")) if request.system_message else ""
    settings = str(sorted((request.model_settings or {}).items(), key=lambda item: str(item[0])))
    return stable_hash(system, str(request.tool_choice), settings, *tools, "formats", *formats)


def _other_state(state: Any) -> str:
    """What a model node may read beside the messages."""
    fields = state if isinstance(state, Mapping) else getattr(state, "__dict__", {})
    parts: list[str] = []
    for name in sorted(str(name) for name in fields if name != "messages"):
        try:
            parts += [name, digest(encode(as_stored(fields[name])))]
        except NotSealable as refused:
            parts += [name, refused.type_name]
    return stable_hash(*parts)


def _schema_specs(request: Any) -> Sequence[Any]:
    found = getattr(getattr(request, "response_format", None), "schema_specs", None)
    return found if isinstance(found, list | tuple) else ()


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
    """Messages, and what the agent's response formats reach."""
    given = getattr(request, "response_format", None)
    schemas = [
        getattr(given, "schema", given),
        *(getattr(spec, "schema", None) for spec in _schema_specs(request)),
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
