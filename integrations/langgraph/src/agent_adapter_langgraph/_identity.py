"""Which record answers which call: thread, node path, message and call id; or the visit; or a run's own name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from agent_adapter.exec.integration import CallId, as_stored, call_digest, encode, stable_hash
from agent_adapter_langgraph._scope import current_scope, occurrences
from agent_adapter_langgraph._visit import Visit, calls_of, get, listing, path_of


@dataclass(frozen=True)
class ToolUse:
    """One use of a tool as the framework presents it."""

    tool: BaseTool | None
    name: str
    model_id: str | None
    arguments: Any


@dataclass(frozen=True)
class Found:
    """The model message that asks for a call; `ambiguous` when it uses the call's id more than once."""

    message: str
    ambiguous: bool


def find_message(messages: Sequence[Any], use: ToolUse) -> Found | None:
    """The newest model message that asks for this call; None if there is none, or it has no id."""
    for message in reversed(messages):
        ids = [call.get("id") for call in calls_of(message) if call.get("name") == use.name]
        if use.model_id in ids:
            name = get(message, "id")
            every = [call.get("id") for call in calls_of(message)]
            return Found(str(name), every.count(use.model_id) > 1) if name else None
    return None


def occurrence_of(messages: Sequence[Any], call_id: str | None, tool: str, arguments: Any) -> int:
    """How many equal calls the model asked for before this one, since the person last said something."""
    digested, count = call_digest(tool, arguments), 0
    start = max(
        (n for n, message in enumerate(messages) if get(message, "type") == "human"), default=-1
    )
    for message in messages[start + 1 :]:
        for call in calls_of(message):
            if call.get("name") == tool and call_digest(tool, call.get("args")) == digested:
                if call.get("id") == call_id:
                    return count
                count += 1
    return count


def message_call(visit: Visit, found: "Found", use: ToolUse) -> CallId:
    """A call that a model message asks for; it is found again after edits, forks and redeploys."""
    run = _run("message", visit.thread, found.message)
    name = str(use.model_id)
    # Two calls of one message that share an id are told apart by which of them the graph sent here.
    sent = str(visit.sent) if found.ambiguous else ""
    return _call(
        visit, run, stable_hash(visit.path, name, sent)[:32], use.name, name, use.arguments
    )


def visit_call(visit: Visit, tool: str, call_id: str | None, arguments: Any) -> CallId:
    """A call that only its visit tells apart: by the model's id if it has one, else by how many equal ones came before."""
    scope = current_scope.get()
    place = scope.place(visit) if scope else visit.namespace
    base = (
        ("named", visit.run_name, path_of(place))
        if visit.run_name is not None
        else ("visit", visit.thread, place)
    )
    run = _run(*base)
    digested = call_digest(tool, arguments)
    if call_id is not None:
        return _call(visit, run, stable_hash("id", call_id)[:32], tool, call_id, arguments)
    execution = scope.execution if scope else visit.attempt
    occurrence = occurrences.next((visit.thread, place, execution), tool, digested)
    if visit.run_name is not None:
        occurrence = occurrences.in_named_run(visit, path_of(place), (tool, digested), occurrence)
    return _call(
        visit,
        run,
        stable_hash("nth", digested, str(occurrence))[:32],
        tool,
        f"{tool}-{occurrence}",
        arguments,
    )


def named_call(visit: Visit, tool: str, call_id: str, arguments: Any, occurrence: int) -> CallId:
    """A call of a request that the caller named; it survives a fresh thread and a second delivery."""
    digested = call_digest(tool, arguments)
    key = stable_hash(visit.path, digested, str(occurrence))[:32]
    return _call(visit, named_run(visit.run_name or ""), key, tool, call_id, arguments)


def named_run(run_name: str) -> str:
    """The store's run id for the calls of a request that the caller named."""
    return _run("named", run_name)


def name_note(thread: str, run_name: str) -> CallId:
    """Where a thread keeps that a request of this name made calls in it."""
    return CallId(
        run=_run("names", thread),
        name=listing(thread),
        key=stable_hash(run_name)[:32],
        call_id="name",
        tool="run-name",
        digest="",
        scope="",
    )


def message_run(thread: str, message_id: str) -> str:
    """The store's run id for the calls of one model message."""
    return _run("message", thread, message_id)


def _call(  # noqa: PLR0917 - one private constructor for every kind of identity
    visit: Visit, run: str, key: str, tool: str, call_id: str, arguments: Any
) -> CallId:
    return CallId(
        run=run,
        name=visit.listing,
        key=key,
        call_id=call_id,
        tool=tool,
        digest=call_digest(tool, arguments),
        scope="" if visit.run_name is not None else f"{visit.thread}\x1f{visit.namespace}",
        arguments=encode(as_stored(arguments)),
    )


def _run(*parts: str) -> str:
    return f"lg-{stable_hash(*parts)}"
