"""A hand-off to a parent graph keeps the turn that it belongs to: the model's message and the answers of its siblings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command


def with_siblings(
    result: Any, turn: AIMessage | None, results: Sequence[Any], key: str = "messages"
) -> Any:
    """The result; a hand-off to a parent whose update carries messages gets those of its turn that it lacks.

    LangGraph drops everything else that the step returned when control moves to a parent graph. Messages have
    ids, so a parent that has the model's message already keeps it once.
    """
    if turn is None or not is_handoff(result) or not isinstance(result.update, dict):
        return result
    messages = result.update.get(key)
    if not isinstance(messages, list):
        return result
    answered = {getattr(message, "tool_call_id", None) for message in messages}
    siblings = [
        message
        for other in results
        if not is_handoff(other)
        for message in answers_in(other, key)
        if message.tool_call_id not in answered
    ]
    place = next(
        (n for n, message in enumerate(messages) if getattr(message, "id", None) == turn.id), None
    )
    before, after = (
        ([turn], messages) if place is None else (messages[: place + 1], messages[place + 1 :])
    )
    merged = [*before, *siblings, *after]
    return replace(result, update={**result.update, key: merged})


def is_handoff(result: Any) -> bool:
    """Whether the result gives control to another graph."""
    return isinstance(result, Command) and bool(result.graph)


def answers_in(result: Any, key: str) -> list[ToolMessage]:
    """The tool messages that a result brings."""
    if isinstance(result, ToolMessage):
        return [result]
    if isinstance(result, list):
        return [message for item in result for message in answers_in(item, key)]
    if isinstance(result, Command) and isinstance(result.update, dict):
        found = result.update.get(key)
        return (
            [message for message in found if isinstance(message, ToolMessage)]
            if isinstance(found, list)
            else []
        )
    return []
