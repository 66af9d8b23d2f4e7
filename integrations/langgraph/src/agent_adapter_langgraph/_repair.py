"""Truthful repair of a stopped thread, and records that go when their thread goes."""

import time
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from agent_adapter.exec.checkpoints import CheckpointStore, RunListing
from agent_adapter.exec.integration import Ledger, Truth
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._handoff import answers_in
from agent_adapter_langgraph._identity import call_digest, message_run, messages_of, stable_hash
from agent_adapter_langgraph._messages import known_types, load

IN_DOUBT = "The outcome of this call is unknown: it was begun and no result was recorded. It needs a person's decision."
NEVER = "This call was never started: the run stopped before it. Call the tool again if it is still wanted."
PAGE = 500


async def repair(core: Core, state: Any, thread_id: str) -> list[Any]:
    """The messages, with an answer after the model message for every call that has none; every call id is answered once."""
    messages = messages_of(state)
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    repaired: list[Any] = []
    given: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id in given:
                continue
            given.add(message.tool_call_id)
        repaired.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["id"] not in answered and call["id"] not in given:
                    given.add(str(call["id"]))
                    repaired.append(await _answer(core, message, call, thread_id))
    return repaired


async def _answer(core: Core, message: AIMessage, call: Any, thread_id: str) -> ToolMessage:
    run = message_run(thread_id, str(message.id))
    truth = await core.ledger.truth(run, str(call["id"]), call_digest(call["name"], call["args"]))
    text = IN_DOUBT if truth.in_doubt else NEVER
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
    if truth.outcome["kind"] == "parent":
        return None
    known = known_types(None, core.types)
    result = load(truth.outcome, known, tool=call["name"], call_id=call["id"], namespace="")
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
