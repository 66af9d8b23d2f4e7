"""A function's signature as a pydantic model of its arguments. Pure."""

import inspect
import typing
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from agent_adapter.context import RunContext
from agent_adapter.errors import ToolUsageError

CONTEXT = "ctx"

# Not a common base class: the first model that is defined makes pydantic look for plugins, which slows the import.
_made_here: weakref.WeakSet[type[BaseModel]] = weakref.WeakSet()


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
        ToolUsageError: `fn` takes arguments that have no name, an annotation cannot be resolved or has no schema, `ctx`
            is something other than the RunContext, or the fields of `parameters` are not the function's arguments.
    """
    hints = _hints(fn, name)
    declared = inspect.signature(fn).parameters
    if CONTEXT in declared and hints.get(CONTEXT, Any) not in (Any, RunContext, RunContext | None):
        raise ToolUsageError(f"tool {name!r}: the argument {CONTEXT!r} is always the RunContext")
    returns = hints.get("return", Any)
    if parameters is not None:
        names = _arguments_of(parameters)
        _check_fit(fn, name, names, takes_ctx=CONTEXT in declared)
        return Signature(parameters, names, CONTEXT in declared, returns)
    # Fields have neutral names and the arguments are aliases: an argument may be called `json`, `schema` or `_x`, which
    # pydantic does not allow as fields.
    names = {f"arg_{n}": argument for n, argument in enumerate(declared) if argument != CONTEXT}
    fields: dict[str, Any] = {}
    for field, argument in names.items():
        parameter = declared[argument]
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolUsageError(f"tool {name!r}: {parameter} cannot be given by name")
        hint: Any = Annotated[hints.get(argument, Any), Field(alias=argument)]
        fields[field] = (hint, ... if parameter.default is parameter.empty else parameter.default)
    return Signature(_model(name, fields), names, CONTEXT in declared, returns)


def _arguments_of(parameters: type[BaseModel]) -> dict[str, str]:
    made_here = parameters in _made_here
    fields = parameters.model_fields.items()
    return {field: (info.alias or field) if made_here else field for field, info in fields}


def _check_fit(
    fn: Callable[..., Any], name: str, names: Mapping[str, str], *, takes_ctx: bool
) -> None:
    if CONTEXT in names.values():
        raise ToolUsageError(f"tool {name!r}: the argument {CONTEXT!r} is always the RunContext")
    given = dict.fromkeys([*names.values(), *([CONTEXT] if takes_ctx else [])])
    try:
        inspect.signature(fn).bind(**given)
    except TypeError as exc:
        raise ToolUsageError(f"tool {name!r}: the fields of its model do not fit: {exc}") from exc


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    try:
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    except Exception as exc:
        # pydantic has many ways to say that a type has no schema.
        raise ToolUsageError(f"tool {name!r}: its arguments have no schema: {exc}") from exc
    _made_here.add(model)
    return model


def _hints(fn: Callable[..., Any], name: str) -> dict[str, Any]:
    target = fn if inspect.isroutine(fn) else getattr(fn, "func", None) or type(fn).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception as exc:
        raise ToolUsageError(f"tool {name!r}: an annotation cannot be resolved: {exc}") from exc
