"""Truthful repair of a stopped thread: exactly one answer for every call, from the record."""

from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from agent_adapter.exec.integration import NotSealable, Truth, call_digest, stable_hash
from agent_adapter_langgraph._call_ids import corrected
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._handoff import answers_in
from agent_adapter_langgraph._identity import message_run, named_run
from agent_adapter_langgraph._messages import known_types, load
from agent_adapter_langgraph._visit import messages_of

IN_DOUBT = "The outcome of this call is unknown: it was begun and no result was recorded. It needs a person's decision."
NEVER = "This call was never started: the run stopped before it. Call the tool again if it is still wanted."
UNRECORDED = "No result of this call is recorded; it may have begun. Its tool may be called again."
FINISHED = (
    "This call finished, and its result cannot be shown here. Do not call the tool again for it."
)


async def repair(core: Core, state: Any, thread_id: str) -> list[Any]:
    """The messages, with exactly one answer after each model message for every call that it makes.

    A call id counts within its own model message: providers use the same one again in a later turn.
    """
    messages = messages_of(state)
    named = [named_run(name) for name in await core.names_in(thread_id)]
    repaired: list[Any] = []
    placed: set[int] = set()
    for n, message in enumerate(messages):
        if n in placed:
            continue
        if not isinstance(message, AIMessage):
            repaired.append(message)
            continue
        turn = corrected(message, str(message.id))
        repaired.append(turn)
        for asked, call in zip(message.tool_calls, turn.tool_calls, strict=True):
            places = _answers_to(asked["id"], messages, n) if asked["id"] == call["id"] else []
            placed.update(places)
            repaired.append(
                messages[places[0]]
                if places
                else await _answer(core, turn, call, [*named, message_run(thread_id, str(turn.id))])
            )
    return repaired


def _answers_to(call_id: str | None, messages: list[Any], asked: int) -> list[int]:
    """Where the answers to a call stand: after the message that asks, and before one that uses its id again."""
    places: list[int] = []
    for n, message in enumerate(messages[asked + 1 :], asked + 1):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            places.append(n)
        elif isinstance(message, AIMessage) and any(
            call["id"] == call_id for call in message.tool_calls
        ):
            break
    return places


async def _answer(core: Core, turn: AIMessage, call: Any, runs: list[str]) -> ToolMessage:
    tool, digest = core.tools.get(call["name"]), call_digest(call["name"], call["args"])
    truth = Truth()
    for run in runs:
        found = await core.ledger.truth(run, call["id"], digest)
        truth = found if found.outcome is not None or found.in_doubt else truth
    if truth.outcome is not None and (recorded := _recorded(core, truth, call)) is not None:
        return recorded
    policy = core.policy_of(call["name"], tool)
    text = NEVER
    if truth.outcome is not None:
        text = FINISHED
    elif truth.in_doubt:
        text = IN_DOUBT
    elif policy.idempotent or policy.read_only:
        text = UNRECORDED
    return ToolMessage(
        content=text,
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        id=f"repair-{stable_hash(str(turn.id), call['id'])[:32]}",
    )


def _recorded(core: Core, truth: Truth, call: Any) -> ToolMessage | None:
    """The recorded answer; None for a hand-off, and for one that cannot be built without its tool."""
    if truth.outcome["kind"] == "parent":
        return None
    known = known_types(core.tools.get(call["name"]), core.types)
    try:
        result = load(truth.outcome, known, tool=call["name"], call_id=call["id"], namespace="")
    except NotSealable:
        return None
    return next((m for m in answers_in(result, "messages") if m.tool_call_id == call["id"]), None)
