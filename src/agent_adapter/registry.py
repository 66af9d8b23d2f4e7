"""Registry: the tools that calls are looked up in, by unique name."""

from collections.abc import Iterable, Iterator

from agent_adapter.calls import ToolSpec
from agent_adapter.errors import ToolUsageError
from agent_adapter.tools import Tool

__all__ = ["Registry"]


class Registry:
    """Tools by name, in the order in which they were added.

    Raises:
        ToolUsageError: two tools have one name, or something is no tool.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> Tool:
        """Register this tool and hand it back.

        Raises:
            ToolUsageError: another tool has this name, or this is no `Tool`.
        """
        if not isinstance(tool, Tool):
            raise ToolUsageError(f"{tool!r} is no Tool: decorate the function with @tool")
        if self._tools.setdefault(tool.name, tool) is not tool:
            raise ToolUsageError(f"a tool named {tool.name!r} is registered already")
        return tool

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    def names(self) -> list[str]:
        """Every tool's name."""
        return list(self._tools)

    def specs(self) -> list[ToolSpec]:
        """Every tool as it is shown to a model."""
        return [tool.spec for tool in self._tools.values()]

    def subset(self, names: Iterable[str]) -> "Registry":
        """A registry of these tools alone, in the given order.

        Raises:
            ToolUsageError: a name is not registered.
        """
        chosen = list(names)
        if missing := [name for name in chosen if name not in self._tools]:
            raise ToolUsageError(f"no such tools: {', '.join(map(repr, missing))}")
        return Registry(self._tools[name] for name in chosen)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)
