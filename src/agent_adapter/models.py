"""The Model protocol: what is asked of a model, and what it replies. Frozen values of plain data."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_adapter.calls import ToolCall, ToolSpec

__all__ = ["Message", "Model", "ModelChunk", "ModelReply", "ModelRequest", "Role", "Usage"]

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class Usage:
    """What model calls used; `cost` is in whatever unit the model reports."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: who speaks; "tool" answers a call.
        content: text, or a list of content blocks as plain JSON mappings.
        calls: the calls that an assistant message asks for.
        call_id: for role "tool": the call that this answers.
        name: for role "tool": the tool's name.
        status: for role "tool": how the call ended.
        extra: what only the model's adapter understands (plain JSON); kept and given back as it is.
    """

    role: Role
    content: str | list[dict[str, Any]] = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str | None = None
    status: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The content's text: all of it, or that of its text blocks one after the other."""
        if isinstance(self.content, str):
            return self.content
        return "".join(
            str(block.get("text", ""))
            for block in self.content
            if block.get("type", "text") == "text"
        )


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """What a model is asked.

    Attributes:
        messages: the conversation so far.
        tools: the tools that the reply may call.
        tool_choice: "auto", "none", "required", or the name of the tool that has to be called.
        output_schema: the JSON schema that the final reply's text has to fit, None for free text.
        options: passed on to the provider as they are.
        stage: the name of the part of the program that asks.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    output_schema: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    stage: str = ""


@dataclass(frozen=True)
class ModelReply:
    """What a model replied: text, calls, or both; a reply without calls is final.

    Attributes:
        content: as in `Message`.
        calls: the tools that it asks for, each call with an id.
        usage: what this reply used.
        extra: as in `Message`.
    """

    content: str | list[dict[str, Any]] = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The content's text."""
        return self.message.text

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation."""
        return Message("assistant", self.content, self.calls, extra=self.extra)


@dataclass(frozen=True)
class ModelChunk:
    """A piece of a streamed reply: more text, and in the last one the whole reply."""

    text: str = ""
    reply: ModelReply | None = None


class Model(Protocol):
    """A language model as the loop sees it. An error of the provider is raised as it is or as a `ModelError`.

    A request is only read: its messages are the loop's own history, and are not copied for each turn.
    """

    async def generate(self, request: ModelRequest) -> ModelReply:
        """The reply to this request."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply piece by piece; the last chunk has the whole of it in `reply`."""
        ...

    def cache_key_fields(self) -> Mapping[str, Any]:
        """What tells this model's replies from another's: provider, name, settings; plain JSON."""
        ...
