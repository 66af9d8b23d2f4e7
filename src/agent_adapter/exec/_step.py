"""Step and Ref: one call of a plan, and the place in its arguments that an earlier step's value takes. Values."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from agent_adapter.calls import ToolResult
from agent_adapter.errors import ToolUsageError
from agent_adapter.tools import Tool

_DEPTH = 100


class MissingValue(LookupError):
    """A step's value holds nothing where a `Ref` points."""


@dataclass(frozen=True)
class Ref:
    """The value of another step, or a part of it: `Ref("search.hits.0.url")`.

    It may stand anywhere in the arguments of a `Step`, in lists and mappings too, and makes that step a need.

    Attributes:
        path: the step's id; then, each after a dot, keys of mappings, fields of objects, and positions in lists.

    Raises:
        ToolUsageError: the path is no text, or a part of it is empty.
    """

    path: str

    def __post_init__(self) -> None:
        if not _is_text(self.path) or not all(self.path.split(".")):
            raise ToolUsageError(f"a Ref is 'step' or 'step.part.part', not {self.path!r}")

    @property
    def step(self) -> str:
        """The id of the step that is meant."""
        return self.path.partition(".")[0]

    def read(self, value: Any) -> Any:
        """The part of that step's value.

        Raises:
            MissingValue: there is no such part; the message says where the way ends.
        """
        way, *parts = self.path.split(".")
        for part in parts:
            try:
                value = _part(value, part)
            except (LookupError, AttributeError, ValueError):
                raise MissingValue(
                    f"Ref({self.path!r}): {way!r} is a {type(value).__qualname__} without {part!r}"
                ) from None
            way = f"{way}.{part}"
        return value


@dataclass(frozen=True)
class Step:
    """One call of a plan: it runs when the steps that it needs have a value.

    Attributes:
        id: the step's name in the plan and the id of its call; any text without a dot.
        tool: the tool, or the name by which the executor's registry knows it.
        args: the arguments; a `Ref` stands for another step's value.
        needs: ids of the steps that have to succeed first, beside those that a `Ref` names.
        when: a plain function of the results of the needs, by id: False skips the step. It is asked again whenever the
            plan is entered again, so it decides by these results alone.

    Raises:
        ToolUsageError: a field has a value that it cannot have.
    """

    id: str
    tool: str | Tool
    args: Mapping[str, Any] = field(default_factory=dict)
    needs: Sequence[str] = ()
    when: Callable[[Mapping[str, ToolResult]], bool] | None = None

    def __post_init__(self) -> None:
        if not _is_text(self.id) or not self.id or "." in self.id:
            raise ToolUsageError(f"a step's id is text without a dot, not {self.id!r}")
        self._check("tool", "a name or a Tool", isinstance(self.tool, str | Tool))
        self._check("args", "a mapping by name", isinstance(self.args, Mapping))
        listed = isinstance(self.needs, list | tuple)
        self._check(
            "needs",
            "a list of step ids",
            listed and all(map(_is_text, self.needs)),
        )
        plain = callable(self.when) and not inspect.iscoroutinefunction(self.when)
        self._check("when", "None or a plain function of the results", self.when is None or plain)
        if not all(map(_is_text, self.args)):
            raise ToolUsageError(f"step {self.id!r}: args has a key that is no text")
        # A list that the caller goes on using would change what was checked.
        object.__setattr__(self, "needs", tuple(self.needs))

    def _check(self, name: str, what: str, fits: bool) -> None:
        if not fits:
            raise ToolUsageError(f"step {self.id!r}: {name} is {what}, not {getattr(self, name)!r}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def needs_of(step: Step) -> tuple[str, ...]:
    """The ids of the steps that this one needs: the named ones, then those that a Ref names, each once.

    Raises:
        ToolUsageError: the arguments are nested too deep, or hold themselves.
    """
    return tuple(dict.fromkeys((*step.needs, *(ref.step for ref in _refs(step, step.args)))))


def resolved(args: Any, values: Mapping[str, Any]) -> Any:
    """A copy of the arguments with the value of its step, or the part of it, in place of each Ref.

    Raises:
        MissingValue: a step's value holds nothing where a Ref points.
    """
    if isinstance(args, Ref):
        return args.read(values[args.step])
    if isinstance(args, Mapping):
        return {key: resolved(value, values) for key, value in args.items()}
    if type(args) in (list, tuple):
        return type(args)(resolved(item, values) for item in args)
    return args


def _refs(step: Step, value: Any, depth: int = 0) -> Iterator[Ref]:
    if depth > _DEPTH:
        raise ToolUsageError(f"step {step.id!r}: args is nested too deep, or holds itself")
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _refs(step, item, depth + 1)
    elif type(value) in (list, tuple):
        for item in value:
            yield from _refs(step, item, depth + 1)


def _part(value: Any, part: str) -> Any:
    """What stands under this name or at this position.

    Raises:
        LookupError: nothing does; or AttributeError or ValueError.
    """
    if isinstance(value, Mapping) and part in value:
        return value[part]
    if part in _field_names(value):
        return getattr(value, part)
    if isinstance(value, list | tuple) and part.isascii() and part.isdigit():
        return value[int(part)]
    raise LookupError(part)


def _field_names(value: Any) -> frozenset[str]:
    """The declared fields alone: a path that came from elsewhere reaches no method and no internals."""
    if isinstance(value, BaseModel):
        return frozenset(type(value).model_fields)
    if is_dataclass(value) and not isinstance(value, type):
        return frozenset(each.name for each in fields(value))
    return frozenset(getattr(value, "_fields", ())) if isinstance(value, tuple) else frozenset()
