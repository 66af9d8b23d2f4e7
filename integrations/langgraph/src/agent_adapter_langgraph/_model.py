"""ChatModel: a LangChain chat model as the model of a tool loop."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.json_schema import dereference_refs

from agent_adapter import (
    AgentAdapterError,
    ConfigError,
    ModelError,
    ToolSpec,
    ToolUsageError,
)
from agent_adapter.exec import is_control_flow
from agent_adapter.exec.integration import digest
from agent_adapter.models import ModelChunk, ModelReply, ModelRequest
from agent_adapter_langgraph._model_messages import to_langchain, to_reply

__all__ = ["ChatModel"]

# LangChain's word for "some tool"; "auto" is what every provider does when nothing is said.
_CHOICES = {"auto": None, "required": "any"}


class ChatModel:
    """Any LangChain chat model as a `Model`: for `run_tool_loop`, agents and whatever else asks models.

    A request's `options` are bound as they are, beside the tools where there are any. An output schema is asked for in
    the system text, which works with every provider and beside tools; where the provider can enforce it, say so in the
    options (`response_format`). With tool choice "none" the tools are not shown.

    Args:
        model: the chat model.
        cost: what a reply cost, in whatever unit `RunLimits.max_cost` is; LangChain reports tokens alone, so nothing
            counts as cost without it.

    Raises:
        ConfigError: `model` is no chat model (one with settings bound to it is none: give them as options).
    """

    def __init__(
        self, model: BaseChatModel, *, cost: Callable[[AIMessage], float] | None = None
    ) -> None:
        if not isinstance(model, BaseChatModel):
            raise ConfigError(
                f"ChatModel takes a LangChain chat model, not a {type(model).__name__}; settings that were bound to a "
                "model belong in the request's options"
            )
        self._model = model
        self._cost = cost

    async def generate(self, request: ModelRequest) -> ModelReply:
        """The reply to this request.

        Raises:
            ModelError: the provider failed (its exception is the cause), or replied with what cannot be used.
            ConfigError: there are tools, and the model cannot call any.
            ToolUsageError: the tool that has to be called is not among the tools.
        """
        messages = to_langchain(request)
        with self._provider_errors():
            reply = await self._bound(request).ainvoke(messages)
        return to_reply(reply, request, self._cost)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply's text as it comes, then the whole reply.

        Raises:
            ModelError: the provider failed (its exception is the cause), or replied with what cannot be used.
            ConfigError: there are tools, and the model cannot call any.
            ToolUsageError: the tool that has to be called is not among the tools.
        """
        messages = to_langchain(request)
        whole: Any = None
        with self._provider_errors():
            pieces = cast("Any", self._bound(request).astream(messages))
            async with aclosing(pieces):
                async for piece in pieces:
                    whole = piece if whole is None else whole + piece
                    if text := str(piece.text):
                        yield ModelChunk(text)
        yield ModelChunk(reply=to_reply(whole, request, self._cost))

    def cache_key_fields(self) -> Mapping[str, Any]:
        """The model's class, and a digest of its settings as LangChain serialises them."""
        kind = type(self._model)
        name = f"{kind.__module__}:{kind.__qualname__}"
        return {"provider": "langchain", "name": name, "settings": digest(dumpd(self._model))}

    def _bound(self, request: ModelRequest) -> Runnable[Any, BaseMessage]:
        """The model with tools and options. `with_structured_output` is of no use here: it takes the tools' place."""
        choice = request.tool_choice
        forced = {"required", *(spec.name for spec in request.tools)} if request.tools else set()
        if choice not in {"auto", "none", *forced}:
            raise ToolUsageError(f"tool_choice {choice!r} names none of the request's tools")
        options = dict(request.options)
        if not request.tools or choice == "none":
            return self._model.bind(**options)
        if (chosen := _CHOICES.get(choice, choice)) is not None:
            options = {"tool_choice": chosen, **options}
        try:
            return self._model.bind_tools([_shown(spec) for spec in request.tools], **options)
        except NotImplementedError as exc:
            raise ConfigError(f"{type(self._model).__name__} cannot call tools") from exc

    @contextmanager
    def _provider_errors(self) -> Iterator[None]:
        """What goes wrong in here leaves as a `ModelError`; signals and our own errors pass."""
        try:
            yield
        except AgentAdapterError:
            raise
        except Exception as exc:
            if is_control_flow(exc):
                raise
            name = type(self._model).__name__
            raise ModelError(f"{name} failed: {type(exc).__name__}: {exc}") from exc


def _shown(spec: ToolSpec) -> dict[str, Any]:
    """The tool in the form that every provider's `bind_tools` takes, without references, as LangChain shows its own."""
    parameters = dereference_refs(dict(spec.parameters))
    parameters.pop("$defs", None)
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": parameters,
        },
    }
