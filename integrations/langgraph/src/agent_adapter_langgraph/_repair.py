"""Truthful repair of a stopped thread, and records that go when their thread goes."""

import time
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from agent_adapter.exec.checkpoints import CheckpointStore, RunListing
from agent_adapter.exec.integration import Ledger, NotSealable, Truth
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._handoff import answers_in
from agent_adapter_langgraph._identity import call_digest, message_run
from agent_adapter_langgraph._messages import known_types, load
from agent_adapter_langgraph._visit import messages_of, stable_hash

IN_DOUBT = "The outcome of this call is unknown: it was begun and no result was recorded. It needs a person's decision."
NEVER = "This call was never started: the run stopped before it. Call the tool again if it is still wanted."
FINISHED = (
    "This call finished, and its result cannot be shown here. Do not call the tool again for it."
)
PAGE = 500


async def repair(core: Core, state: Any, thread_id: str) -> list[Any]:
    """The messages, with exactly one answer after each model message for every call that it makes.

    A call id counts within its own model message: providers use the same one again in a later turn.
    """
    messages = messages_of(state)
    repaired: list[Any] = []
    placed: set[int] = set()
    for n, message in enumerate(messages):
        if n in placed:
            continue
        repaired.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                places = _answers_to(str(call["id"]), messages, n)
                placed.update(places)
                answer = (
                    messages[places[0]] if places else await _answer(core, message, call, thread_id)
                )
                repaired.append(answer)
    return repaired


def _answers_to(call_id: str, messages: list[Any], asked: int) -> list[int]:
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


async def _answer(core: Core, message: AIMessage, call: Any, thread_id: str) -> ToolMessage:
    run = message_run(thread_id, str(message.id))
    truth = await core.ledger.truth(run, str(call["id"]), call_digest(call["name"], call["args"]))
    text = FINISHED if truth.outcome is not None else IN_DOUBT if truth.in_doubt else NEVER
    if truth.outcome is not None and (recorded := _recorded(core, truth, call)) is not None:
        return recorded
    return ToolMessage(
        content=text,
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        id=f"repair-{stable_hash(run, str(call['id']))[:32]}",
    )


def _recorded(core: Core, truth: Truth, call: Any) -> ToolMessage | None:
    """The recorded answer; None for a hand-off, and for one that cannot be built without its tool."""
    if truth.outcome["kind"] == "parent":
        return None
    known = known_types(None, core.types)
    try:
        result = load(truth.outcome, known, tool=call["name"], call_id=call["id"], namespace="")
    except NotSealable:
        return None
    return next((m for m in answers_in(result, "messages") if m.tool_call_id == call["id"]), None)


async def delete_runs(listed: RunListing, store: CheckpointStore, name: str) -> int:
    """How many runs of this name were deleted."""
    deleted = 0
    while runs := await listed.list_runs(name=name, limit=PAGE):
        for run in runs:
            deleted += await store.delete(run.run_id)
    return deleted


async def prune(
    ledger: Ledger, listed: RunListing, store: CheckpointStore, older_than_s: float
) -> int:
    """How many of the bridge's runs were deleted: old ones in which every call is finished."""
    deleted, after = 0, None
    before = time.time() - older_than_s
    while runs := await listed.list_runs(kind="flow", saved_before=before, after=after, limit=PAGE):
        after = runs[-1].run_id
        for run in runs:
            if run.name.startswith(("langgraph:", "langgraph-run:")) and await ledger.finished(
                run.run_id
            ):
                deleted += await store.delete(run.run_id)
    return deleted
