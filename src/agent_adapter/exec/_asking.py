"""One model call of a loop: the request, compression, streaming, and the reading of a structured reply."""

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent_adapter._canonical import digest
from agent_adapter.errors import AgentAdapterError, ConfigError, ModelError, ToolUsageError
from agent_adapter.exec._loop_messages import read_reply
from agent_adapter.exec._loop_state import LoopState
from agent_adapter.exec._loop_store import View
from agent_adapter.exec.control import is_control_flow
from agent_adapter.models import Message, Model, ModelReply, ModelRequest
from agent_adapter.registry import Registry

Compression = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]
OnText = Callable[[str], Awaitable[None] | None]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a loop asks its model.

    Attributes:
        model: the model.
        registry: the tools that it may call.
        tool_choice: for the run's first model call; later ones are free ("none" stays).
        output: what the final reply's text is read as.
        options: for the provider.
        stage: the loop's name.
        compression: makes a shorter conversation for the request; the history stays whole.
        on_text: gets the text as it comes; then the model streams.
    """

    model: Model
    registry: Registry
    tool_choice: str = "auto"
    output: "Output"
    options: Mapping[str, Any] = field(default_factory=dict)
    stage: str = "tool_loop"
    compression: Compression | None = None
    on_text: OnText | None = None

    async def ask(self, state: LoopState, view: View | None) -> tuple[ModelReply, View | None]:
        """The model's reply, and the conversation that it was shown when compression changed it.

        Raises:
            ModelError: the model failed, or its reply is none.
            ToolUsageError: compression gave something other than messages, or none.
        """
        shown, view = await self._shown(state, view)
        first = state.turn == 0 or self.tool_choice == "none"
        request = ModelRequest(
            messages=shown,
            tools=tuple(self.registry.specs()),
            tool_choice=self.tool_choice if first else "auto",
            output_schema=self.output.schema,
            options=self.options,
            stage=self.stage,
        )
        return read_reply(await self._reply(request), state.turn), view

    async def _shown(
        self, state: LoopState, view: View | None
    ) -> tuple[tuple[Message, ...], View | None]:
        messages = state.messages
        if self.compression is None:
            return messages, None
        if view is not None:
            messages = (*view.messages, *messages[view.covers :])
        said: Any = self.compression(messages)
        shown = tuple(await said if inspect.isawaitable(said) else said)
        if not shown or not all(isinstance(message, Message) for message in shown):
            raise ToolUsageError("compression has to return messages, at least one")
        same = shown == messages and view is None
        return shown, None if same else View(shown, len(state.messages))

    async def _reply(self, request: ModelRequest) -> object:
        if self.on_text is None:
            with _model_errors():
                return await self.model.generate(request)
        with _model_errors():
            chunks = self.model.stream(request)
        reply: ModelReply | None = None
        try:
            while True:
                with _model_errors():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                # Outside: what the callback raises is the caller's own and ends the loop as it is.
                if chunk.text and inspect.isawaitable(said := self.on_text(chunk.text)):
                    await said
                reply = chunk.reply or reply
        finally:
            # A stream that is left half-way is closed here and not by the garbage collector on some other day.
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()
        if reply is None:
            raise ModelError("the model's stream ended without the whole reply in its last chunk")
        return reply


class Output:
    """What a loop's final reply is read as.

    Args:
        schema: a type (a pydantic model, for example), a JSON schema, or None for free text.

    Raises:
        ConfigError: it is neither.
    """

    def __init__(self, schema: Any = None) -> None:
        self._type: TypeAdapter[Any] | None = None
        self.schema: Mapping[str, Any] | None = None
        if schema is None:
            return
        if isinstance(schema, Mapping):
            self.schema = dict(schema)
            return
        try:
            self._type = TypeAdapter(schema)
            self.schema = self._type.json_schema()
        except Exception as exc:
            raise ConfigError(
                f"output_schema is a type or a JSON schema, not {schema!r}: {exc}"
            ) from exc

    @functools.cached_property
    def digest(self) -> str | None:
        """What tells this schema from another."""
        return None if self.schema is None else digest(json.loads(json.dumps(self.schema)))

    def parse(self, text: str) -> Any:
        """The value that the final reply's text says, None for free text.

        Raises:
            ModelError: the text does not fit.
        """
        if self.schema is None:
            return None
        try:
            return json.loads(text) if self._type is None else self._type.validate_json(text)
        except (ValueError, ValidationError) as exc:
            raise ModelError(f"the model's final reply does not fit output_schema: {exc}") from exc


@contextmanager
def _model_errors() -> Iterator[None]:
    """What the model raises leaves as a `ModelError`; control flow and our own errors stay what they are."""
    try:
        yield
    except Exception as exc:
        if is_control_flow(exc) or isinstance(exc, AgentAdapterError):
            raise
        raise ModelError(f"the model failed: {type(exc).__name__}: {exc}") from exc
