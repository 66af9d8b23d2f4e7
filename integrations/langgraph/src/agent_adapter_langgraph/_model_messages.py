"""Conversations to LangChain's messages, and LangChain's replies back, with what only LangChain understands kept."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from agent_adapter import ModelError, NotSealable, ToolCall
from agent_adapter.exec.integration import check_plain, decode, encode
from agent_adapter.models import Message, ModelReply, ModelRequest, Usage
from agent_adapter_langgraph._call_ids import with_call_ids

# The entry of `extra` that is ours; another adapter's entry is left alone.
_KEPT = "langchain"

# LangChain's own ids, made where the provider gave none: new ones each time, and unknown to the provider.
_MADE_UP = "lc_"

_SCHEMA = (
    "When you answer without calling a tool, answer with one JSON value that fits this JSON schema and with nothing "
    "else, no Markdown around it: "
)


def to_langchain(request: ModelRequest) -> list[BaseMessage]:
    """The conversation as LangChain's messages, with the output schema as a last system text.

    Raises:
        NotSealable: what a message keeps for LangChain was changed.
    """
    messages = [_to_message(message) for message in request.messages]
    if request.output_schema is None:
        return messages
    wanted = _SCHEMA + json.dumps(request.output_schema, ensure_ascii=False)
    if not messages or not isinstance(messages[0], SystemMessage):
        return [SystemMessage(wanted), *messages]
    # Several providers take one system message only, and only as the first one.
    said = messages[0].content
    joined: Any = (
        f"{said}\n\n{wanted}"
        if isinstance(said, str)
        else [*said, {"type": "text", "text": wanted}]
    )
    return [SystemMessage(joined), *messages[1:]]


def to_reply(
    reply: BaseMessage, request: ModelRequest, cost: Callable[[AIMessage], float] | None = None
) -> ModelReply:
    """LangChain's reply to this request; what only LangChain understands stands in `extra`.

    Raises:
        ModelError: it asks for a call that cannot be read, or holds what has no stored form.
    """
    if not isinstance(reply, AIMessage):
        raise ModelError(f"the model replied with a {type(reply).__name__}, not with an AIMessage")
    _check_calls(reply)
    calls = with_call_ids(reply.tool_calls, _base(request))
    used = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0}
    content = _content(reply)
    arguments = [call["args"] for call in calls]
    try:
        check_plain(content, "content")
        check_plain(arguments, "arguments")
    except NotSealable as error:
        raise ModelError(f"the model's reply cannot be stored: {error}") from error
    return ModelReply(
        content,
        tuple(ToolCall(call["id"], call["name"], deepcopy(call["args"])) for call in calls),
        Usage(used["input_tokens"], used["output_tokens"], cost(reply) if cost else 0.0),
        _extra(reply),
    )


def _to_message(message: Message) -> BaseMessage:
    content: Any = deepcopy(message.content)
    match message.role:
        case "system":
            return SystemMessage(content, name=message.name)
        case "user":
            return HumanMessage(content, name=message.name)
        case "tool":
            status = "success" if message.status in (None, "ok") else "error"
            return ToolMessage(
                content, tool_call_id=message.call_id or "", name=message.name, status=status
            )
        case "assistant":
            calls = [
                {"name": call.name, "args": deepcopy(dict(call.arguments)), "id": call.id}
                for call in message.calls
            ]
            kept = decode(message.extra.get(_KEPT, {}), known={})
            return AIMessage(content, tool_calls=calls, **kept)


def _content(reply: AIMessage) -> Any:
    """The content in our form: LangChain allows bare texts between the blocks."""
    if isinstance(reply.content, str):
        return str(reply.content)
    return [
        {"type": "text", "text": block} if isinstance(block, str) else deepcopy(block)
        for block in reply.content
    ]


def _extra(reply: AIMessage) -> dict[str, Any]:
    """What the provider wants back with the reply, as plain JSON.

    What describes the reply (`response_metadata`) is kept as far as it has a stored form; what belongs to it
    (`additional_kwargs`: signatures, reasoning) is kept as it is or refused.
    """
    metadata = {}
    for name, value in reply.response_metadata.items():
        try:
            metadata[name] = _stored(value)
        except NotSealable:
            continue
    try:
        kept = {"additional_kwargs": _stored(reply.additional_kwargs)}
    except NotSealable as error:
        raise ModelError(
            f"the model's reply cannot be stored: additional_kwargs: {error}"
        ) from error
    own_id = None if str(reply.id).startswith(_MADE_UP) else reply.id
    kept |= {"response_metadata": metadata, "id": own_id, "name": reply.name}
    kept = {name: value for name, value in kept.items() if value}
    return {_KEPT: kept} if kept else {}


def _stored(value: Any) -> Any:
    encoded = encode(value)
    decode(encoded, known={})
    return encoded


def _check_calls(reply: AIMessage) -> None:
    """Refuse calls that LangChain could not parse, or parsed although they were cut off."""
    broken: list[Mapping[str, Any]] = [*reply.invalid_tool_calls]
    broken += [call for call in reply.tool_calls if not call["name"]]
    if isinstance(reply, AIMessageChunk):
        # A stream that ends early leaves half a JSON text, and LangChain closes its brackets: `{"to": "a@x` is no call.
        broken += [chunk for chunk in reply.tool_call_chunks if not _is_whole(chunk["args"])]
    if not broken:
        return
    metadata = reply.response_metadata
    ended = metadata.get("finish_reason") or metadata.get("stop_reason") or "no reason given"
    names = ", ".join(dict.fromkeys(repr(call["name"]) for call in broken))
    raise ModelError(
        f"the model asked for a call of {names} that cannot be read: it has no name, or arguments that are no JSON "
        f"object (the reply ended with: {ended}). No tool was called; ask again, or allow longer replies"
    )


def _is_whole(arguments: str | None) -> bool:
    if not arguments:
        return True
    try:
        json.loads(arguments, strict=False)
    except ValueError:
        return False
    return True


def _base(request: ModelRequest) -> str:
    """What makes substitutes for call ids differ from turn to turn, and equal when a turn is played again."""
    asked = [call.id for message in request.messages for call in message.calls]
    return json.dumps([len(asked), *asked])
