"""Every call of a model message has an id of its own: some providers send none, or the same one for every call."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

from agent_adapter.exec.integration import stable_hash


def with_call_ids(calls: Sequence[Mapping[str, Any]], base: str) -> list[Any]:
    """The calls, each with an id of its own; missing and repeated ones are made of `base` and the call's place."""
    taken: set[str] = set()
    named: list[Any] = []
    for place, call in enumerate(calls):
        name = call["id"]
        if not name or name in taken:
            name = f"call-{stable_hash(base, str(place))[:24]}"
        taken.add(name)
        named.append({**call, "id": name})
    return named


def corrected(message: AIMessage, base: str) -> AIMessage:
    """The message with an id for every call; the same object when it has them."""
    calls = with_call_ids(message.tool_calls, base)
    if [call["id"] for call in calls] == [call["id"] for call in message.tool_calls]:
        return message
    return message.model_copy(update={"tool_calls": calls})
