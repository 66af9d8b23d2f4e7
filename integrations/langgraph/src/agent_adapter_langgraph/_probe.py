"""A stand-in for a tool that stores `started` right before the body, whatever middleware stands in between.

The record is written here and not where the call enters, so that a pause or a refusal inside leaves no doubt,
and a person who decides about a call in doubt is shown the arguments that were really used (after an edit,
for example).
"""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolRuntime

from agent_adapter.exec.integration import Fits
from agent_adapter_langgraph._compat import accepts, child_config, injected_names


class Recorded(NamedTuple):
    """What a body returned that is not run a second time."""

    output: Any


class Changed(NamedTuple):
    """The arguments that a person put in place of the model's."""

    arguments: dict[str, Any]


class Body(Protocol):
    """What a probe tells about the body that it stands before."""

    def begin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> "Recorded | Changed | None":
        """Told before the body begins, in its thread.

        Args:
            arguments: as the model gave them.
            tool: the tool that takes the call.
            fits: whether the tool accepts arguments.

        Returns:
            What the body returned before, if it must not run again; or other arguments to run it with.
        """

    async def abegin(
        self, arguments: dict[str, Any], tool: BaseTool, *, fits: Fits
    ) -> "Recorded | Changed | None":
        """As `begin`, on a loop."""

    def end(self, output: Any, error: BaseException | None, *, began: bool) -> None:
        """The body is over; `began` is False when the tool does not accept its arguments."""

    def inside(self) -> AbstractContextManager[None]:
        """What the body runs in: `idempotency_key()` names this call, and calls that it makes are counted as its own."""

    def scoped(self, config: RunnableConfig) -> RunnableConfig:
        """The config to run the body with."""


class _Probe(BaseTool):
    """The behaviour that every probe class puts before its tool's own."""

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        body, original = _standing(self)
        given, kwargs = _scoped(body, tool_input, kwargs)
        fit = _Fit(original, given, kwargs.get("tool_call_id"))
        begun = body.begin(fit.visible, original, fits=fit)
        if isinstance(begun, Recorded):
            return begun.output
        given = fit.given(begun)
        output, error = None, None
        try:
            with body.inside():
                output = original.run(given, *args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            body.end(output, error, began=fit.began)
        return output

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        body, original = _standing(self)
        given, kwargs = _scoped(body, tool_input, kwargs)
        fit = _Fit(original, given, kwargs.get("tool_call_id"))
        begun = await body.abegin(fit.visible, original, fits=fit)
        if isinstance(begun, Recorded):
            return begun.output
        given = fit.given(begun)
        output, error = None, None
        try:
            with body.inside():
                output = await original.arun(given, *args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            body.end(output, error, began=fit.began)
        return output


_classes: dict[type[BaseTool], type[BaseTool]] = {}


def probe(tool: BaseTool, body: Body) -> BaseTool:
    """A copy of the tool, of a subclass of its class, that reports to `body` and then runs the tool itself."""
    kind = type(tool)
    if kind not in _classes:
        _classes[kind] = type(
            kind.__name__,
            (kind,),
            {"run": _Probe.run, "arun": _Probe.arun, "__doc__": kind.__doc__},
        )
    copy = tool.model_copy()
    object.__setattr__(copy, "__class__", _classes[kind])
    object.__setattr__(copy, "_agent_adapter_body", body)
    object.__setattr__(copy, "_agent_adapter_original", tool)
    return copy


def original_of(tool: BaseTool) -> BaseTool:
    """The tool itself, without a probe before it or a wrapping around it."""
    found: Any = tool
    for name in ("_agent_adapter_original", "_agent_adapter_wrapped"):
        found = getattr(found, name, found)
    return cast("BaseTool", found)


class Probes(list[BaseTool]):
    """A runtime's list of tools in which every tool is a probe, made when it is taken out."""

    def __init__(self, tools: list[BaseTool], body: Body) -> None:
        super().__init__(tools)
        self._body = body

    def __iter__(self) -> Iterator[BaseTool]:
        return (probe(original_of(tool), self._body) for tool in super().__iter__())

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return (
            Probes(found, self._body)
            if isinstance(index, slice)
            else probe(original_of(found), self._body)
        )


def _standing(tool: Any) -> tuple[Body, BaseTool]:
    return vars(tool)["_agent_adapter_body"], vars(tool)["_agent_adapter_original"]


class _Fit:
    """Whether a tool accepts the arguments of a call, with what ToolNode filled in beside them.

    Attributes:
        visible: the arguments that the model gave.
        began: whether the tool accepted those that it was given last.
    """

    def __init__(self, tool: BaseTool, tool_input: Any, call_id: Any) -> None:
        self._tool = tool
        self._input = tool_input
        self._call_id = call_id
        self.began = accepts(tool, tool_input, call_id)
        self.visible: dict[str, Any] = {"input": tool_input}
        if isinstance(tool_input, dict):
            hidden = injected_names(tool)
            self.visible = {name: each for name, each in tool_input.items() if name not in hidden}

    def __call__(self, arguments: dict[str, Any]) -> bool:
        if arguments is self.visible:
            return self.began
        if isinstance(self._input, dict) and not arguments.keys() <= self._tool.args.keys():
            # Most tools ignore a name that they do not know: what a person wrote would be lost without a word.
            return False
        return accepts(self._tool, self._with(arguments), self._call_id)

    def given(self, changed: Changed | None) -> Any:
        """What the body is given."""
        if changed is None:
            return self._input
        self.began = True
        return self._with(changed.arguments)

    def _with(self, arguments: dict[str, Any]) -> Any:
        if not isinstance(self._input, dict):
            return arguments.get("input")
        filled_in = {name: each for name, each in self._input.items() if name not in self.visible}
        return {**arguments, **filled_in}


def _scoped(body: Body, tool_input: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The input and options for the body: with its own place to ask, and its runtime without probes."""
    config = body.scoped(kwargs.get("config") or child_config() or {})
    if isinstance(tool_input, dict):
        tool_input = {name: _plain_runtime(value, config) for name, value in tool_input.items()}
    return tool_input, {**kwargs, "config": config}


def _plain_runtime(value: Any, config: RunnableConfig) -> Any:
    if not isinstance(value, ToolRuntime):
        return value
    # Tools that the body itself calls are calls of their own, not this call once more.
    return dataclasses.replace(
        value, config=config, tools=[original_of(tool) for tool in value.tools or ()]
    )
