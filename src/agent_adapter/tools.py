"""Tool and @tool: a named function with validated arguments and a policy."""

import asyncio
import functools
import inspect
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack, overload

from pydantic import BaseModel, ValidationError

from agent_adapter._canonical import reachable_types
from agent_adapter._signature import CONTEXT, Signature, read_signature
from agent_adapter._threads import run_in_thread
from agent_adapter.calls import ToolSpec
from agent_adapter.context import RunContext
from agent_adapter.errors import ToolUsageError
from agent_adapter.policies import AnyGuard, Confirm, Reconcile, ToolPolicy

__all__ = ["InvalidArguments", "Tool", "ToolKind", "tool"]

ToolKind = Literal["function", "agent"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class InvalidArguments(ValueError):
    """The arguments do not fit the tool; the message names each argument and what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class Tool(ToolPolicy):
    """A function that calls may name. It is a `ToolPolicy` too: every policy field stands on the tool itself.

    A sync function runs in a worker thread, an async one on the loop; both see a copy of the caller's context
    variables. An argument named `ctx` is the RunContext: not in the schema, not validated, not part of the call.

    Attributes:
        name: 1 to 128 letters, digits, `_`, `-` and `.`.
        fn: the function.
        description: for the model; the function's docstring by default.
        kind: "agent" for a tool that runs an agent.
        parameters: a model of the arguments; made from the signature by default.
        returns: what the function returns: from its annotation by default. A stored result is rebuilt only into classes
            that this names.

    Raises:
        ToolUsageError: the name or the signature cannot be used.
        ConfigError: a policy field has a value that it cannot have.
    """

    name: str
    fn: Callable[..., Any]
    description: str = ""
    kind: ToolKind = "function"
    parameters: type[BaseModel] = field(default=None)  # type: ignore[assignment]  # from the signature
    returns: Any = None
    _signature: Signature = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_name(self.name):
            raise ToolUsageError(
                f"a tool's name is 1 to 128 letters, digits, '_', '-' or '.', not {self.name!r}"
            )
        signature = read_signature(self.fn, self.name, self.parameters)
        given = {"_signature": signature, "parameters": signature.parameters}
        if self.returns is None:
            given["returns"] = signature.returns
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def spec(self) -> ToolSpec:
        """The tool as it is shown to a model."""
        return ToolSpec(self.name, self.description, self.parameters.model_json_schema(), self.tags)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function gets them: converted, complete with defaults, by name.

        Raises:
            InvalidArguments: an argument is missing, unknown or has a value that does not fit.
        """
        try:
            valid = self.parameters.model_validate(arguments)
        except ValidationError as exc:
            raise InvalidArguments(_explain(exc)) from exc
        return {argument: getattr(valid, name) for name, argument in self._signature.names.items()}

    @functools.cached_property
    def token(self) -> str:
        """A random name of this very tool, in this process."""
        return uuid.uuid4().hex

    @functools.cached_property
    def makes_values(self) -> bool:
        """Whether validation itself makes values (a `default_factory`), so that it may not give the same twice."""
        models = [self.parameters, *reachable_types(self.parameters).values()]
        return any(_makes_values(model) for model in models)

    def start(self, arguments: Mapping[str, Any], ctx: RunContext) -> asyncio.Future[Any]:
        """The running body, called with validated arguments; cancelling it does not stop a sync function's thread."""
        given = {**arguments, CONTEXT: ctx} if self._signature.takes_ctx else arguments
        if self.is_async:
            return asyncio.get_running_loop().create_task(self.fn(**given))
        return run_in_thread(functools.partial(self.fn, **given))

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.fn) or inspect.iscoroutinefunction(
            getattr(self.fn, "__call__", None)  # noqa: B004 - an object with an async __call__ is one too
        )


class _Settings(TypedDict, total=False):
    name: str
    description: str
    parameters: type[BaseModel]
    returns: Any
    idempotent: bool
    read_only: bool
    reconcile: Reconcile | None
    did_not_happen: tuple[type[BaseException], ...]
    confirm: bool | Confirm
    timeout: float | None
    retry: int | None
    cache: float | None
    guards: tuple[AnyGuard, ...]
    tags: tuple[str, ...]


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(**settings: Unpack[_Settings]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None, /, **settings: Unpack[_Settings]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A `Tool` from a function: its name, docstring and signature, and the given fields of `Tool`.

    Raises:
        ToolUsageError: the name or the signature cannot be used.
        ConfigError: a policy field has a value that it cannot have.
    """

    def decorate(fn: Callable[..., Any]) -> Tool:
        given: _Settings = {
            "name": getattr(fn, "__name__", ""),
            "description": inspect.getdoc(fn) or "",
            **settings,
        }
        return Tool(fn=fn, **given)

    return decorate if fn is None else decorate(fn)


def _makes_values(model: type) -> bool:
    declared: dict[str, Any] = getattr(model, "model_fields", None) or getattr(
        model, "__dataclass_fields__", {}
    )
    made = [getattr(each, "default_factory", None) for each in declared.values()]
    # An empty list is always the same one.
    return any(callable(factory) and factory not in (list, dict, set, tuple) for factory in made)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _explain(exc: ValidationError) -> str:
    """One line for each wrong argument, without links and without the values, which may be secret."""
    lines = []
    for error in exc.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(map(str, error["loc"]))
        lines.append(f"{where}: {error['msg']}" if where else error["msg"])
    return "; ".join(lines)
