"""Messages of a loop as plain JSON and back, and what a model is told about a call's result. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, get_args

from pydantic_core import to_json

from agent_adapter._canonical import check_plain, digest, encode
from agent_adapter.calls import ToolCall, ToolResult, shown_value
from agent_adapter.errors import ModelError, NotSealable, ToolUsageError
from agent_adapter.models import Message, ModelReply, Role, Usage

MessageLike = Message | Mapping[str, Any] | str


def read_messages(messages: str | Iterable[MessageLike]) -> tuple[Message, ...]:
    """The conversation that a caller gave: a text is what the user says.

    Raises:
        ToolUsageError: something is no message, or there is none.
    """
    conversation: object = messages
    if isinstance(conversation, str | Message | Mapping):
        conversation = [conversation]
    if not isinstance(conversation, Iterable):
        raise ToolUsageError(f"messages are a text or a list of messages, not {messages!r}")
    given: list[object] = list(conversation)
    if not given:
        raise ToolUsageError("a loop needs at least one message to start from")
    return tuple(_read(message) for message in given)


def _read(message: object) -> Message:
    if isinstance(message, str):
        return Message("user", message)
    if isinstance(message, Mapping):
        if not {"role", "content"} <= message.keys() <= {"role", "content", "name", "extra"}:
            raise ToolUsageError(
                f"a message has role and content, and may have name and extra, not {sorted(message)}"
            )
        message = Message(**message)
    if not isinstance(message, Message) or message.role not in get_args(Role):
        raise ToolUsageError(
            f"{message!r} is no message: give a Message or a mapping with a role ({', '.join(get_args(Role))}) and content, "
            "or a text"
        )
    return message


def read_reply(reply: object, turn: int) -> ModelReply:
    """The model's reply, with an id for every call: a missing or repeated one is replaced the same way each time.

    Raises:
        ModelError: it is no reply, a part of it has another type, or it holds something that cannot be stored.
    """
    if not isinstance(reply, ModelReply):
        raise ModelError(f"the model returned {type(reply).__name__}, not a ModelReply")
    parts: tuple[tuple[str, object, Any], ...] = (
        ("content", reply.content, str | list),
        ("calls", reply.calls, tuple | list),
        ("usage", reply.usage, Usage),
        ("extra", reply.extra, Mapping),
    )
    for name, value, kind in parts:
        if not isinstance(value, kind):
            raise ModelError(f"the reply's {name} is of type {type(value).__name__}")
    numbers: tuple[object, ...] = (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
        reply.usage.cost,
    )
    whole = all(type(number) is int for number in numbers[:2])
    if not whole or type(numbers[2]) not in (int, float) or not math.isfinite(reply.usage.cost):
        raise ModelError(f"the reply's usage is no numbers: {reply.usage!r}")
    if not isinstance(reply.content, str) and not all(isinstance(b, dict) for b in reply.content):
        raise ModelError("the reply's content is a list of something other than mappings")
    reply = replace(reply, calls=_with_ids(reply.calls, turn), extra=dict(reply.extra))
    try:
        check_plain(plain_message(reply.message))
    except NotSealable as exc:
        raise ModelError(f"the model's reply holds what is no plain JSON: {exc}") from exc
    return reply


def _with_ids(calls: Sequence[object], turn: int) -> tuple[ToolCall, ...]:
    for index, call in enumerate(calls):
        parts: tuple[object, ...] = ()
        if isinstance(call, ToolCall):
            parts = (call.id, call.name, call.arguments)
        match parts:
            case (str(), str(), Mapping()):
                continue
            case _:
                raise ModelError(f"call {index} of the model's reply is malformed: {call!r}")
    given = [call for call in calls if isinstance(call, ToolCall)]
    taken = {call.id for call in given}
    seen: set[str] = set()
    named = []
    for index, call in enumerate(given):
        name = call.id
        if not name or name in seen:
            name = f"call-{turn}-{index}"
            while name in taken:
                name += "'"
            taken.add(name)
        seen.add(name)
        named.append(ToolCall(name, call.name, deepcopy(dict(call.arguments))))
    return tuple(named)


def plain_message(message: Message) -> dict[str, Any]:
    """The message as plain JSON; what has its default value is left out."""
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        plain["calls"] = [[call.id, call.name, dict(call.arguments)] for call in message.calls]
    for name in ("call_id", "name", "status"):
        if (value := getattr(message, name)) is not None:
            plain[name] = value
    if message.extra:
        plain["extra"] = dict(message.extra)
    return plain


def from_plain_message(plain: Mapping[str, Any]) -> Message:
    """The message that `plain_message` was given."""
    calls = tuple(ToolCall(*call) for call in plain.get("calls", ()))
    given = {name: value for name, value in plain.items() if name != "calls"}
    return Message(**given, calls=calls)


def answer(result: ToolResult) -> Message:
    """What the model is told about a call's result."""
    return Message(
        "tool",
        _told(result),
        call_id=result.call_id,
        name=result.tool,
        status=result.status,
    )


def answers(results: Sequence[ToolResult]) -> tuple[Message, ...]:
    """What the model is told about the results of a turn, in order."""
    return tuple(answer(result) for result in results)


def _told(result: ToolResult) -> str:
    if not result.ok:
        return str(result.error or result.status)
    value = result.value
    if isinstance(value, str):
        # The exact text, also of a subclass.
        return str.__str__(value)
    if isinstance(value, set | frozenset):
        # The same order in every process.
        value = sorted(value, key=repr)
    try:
        # A text for the model, not a stored form: whatever has no JSON is shown as Python shows it.
        told = to_json(value, fallback=repr, inf_nan_mode="strings", bytes_mode="base64")
        return told.decode()
    except Exception:  # noqa: BLE001 - a value's own code is no reason to lose that the tool ran
        return shown_value(value)


def begun_with(stage: str, messages: Sequence[Message]) -> str:
    """16 hex digits that tell a loop in a visit from another one: by its stage and what it was asked.

    The instructions do not count: a loop that is met again goes on with those that it began with.
    """
    asked = [plain_message(message) for message in messages if message.role != "system"]
    try:
        return digest([stage, encode(asked)])[:16]
    except NotSealable:
        return digest([stage])[:16]
