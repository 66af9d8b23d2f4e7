"""A function's signature as a pydantic model of its arguments. Pure."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from agent_adapter.context import RunContext
from agent_adapter.errors import ToolUsageError

CONTEXT = "ctx"


@dataclass(frozen=True)
class Signature:
    """What a function declares.

    Attributes:
        parameters: a model whose fields stand for the function's arguments.
        names: the model's field names and the arguments that they stand for.
        takes_ctx: the function declares `ctx`.
        returns: the return annotation; `Any` when there is none.
    """

    parameters: type[BaseModel]
    names: Mapping[str, str]
    takes_ctx: bool
    returns: Any


def read_signature(
    fn: Callable[..., Any], name: str, parameters: type[BaseModel] | None
) -> Signature:
    """The signature of `fn`; with `parameters` given, that model stands for its arguments.

    Raises:
        ToolUsageError: `fn` takes arguments that have no name, an annotation cannot be resolved or has no schema, or
            `ctx` is annotated as something other than a RunContext.
    """
    hints = _hints(fn, name)
    declared = inspect.signature(fn).parameters
    if CONTEXT in declared and hints.get(CONTEXT, Any) not in (Any, RunContext, RunContext | None):
        raise ToolUsageError(f"tool {name!r}: the argument {CONTEXT!r} is always the RunContext")
    returns = hints.get("return", Any)
    if parameters is not None:
        return Signature(
            parameters,
            {field: field for field in parameters.model_fields},
            CONTEXT in declared,
            returns,
        )
    # Fields have neutral names and the arguments are aliases: an argument may be called `json`, `schema` or `_x`, which
    # pydantic does not allow as fields.
    names = {f"arg_{n}": argument for n, argument in enumerate(declared) if argument != CONTEXT}
    fields: dict[str, Any] = {}
    for field, argument in names.items():
        parameter = declared[argument]
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolUsageError(f"tool {name!r}: {parameter} cannot be given by name")
        required = parameter.default is parameter.empty
        fields[field] = (
            hints.get(argument, Any),
            Field(... if required else parameter.default, alias=argument),
        )
    return Signature(_model(name, fields), names, CONTEXT in declared, returns)


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        return create_model(
            name, __config__=ConfigDict(extra="forbid", populate_by_name=False), **fields
        )
    except Exception as exc:
        raise ToolUsageError(f"tool {name!r}: its arguments have no schema: {exc}") from exc


def _hints(fn: Callable[..., Any], name: str) -> dict[str, Any]:
    target = fn if inspect.isroutine(fn) else getattr(fn, "func", None) or type(fn).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception as exc:
        raise ToolUsageError(f"tool {name!r}: an annotation cannot be resolved: {exc}") from exc
