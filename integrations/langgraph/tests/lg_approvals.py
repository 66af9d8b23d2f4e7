"""What the tests of approvals share: an agent that is built anew for every invocation, and answers by the name of a call."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langgraph.types import Command
from lg_scripted import GO, THREAD, Oracle, ScriptedChat, durable_app, interrupts

from agent_adapter import ToolPolicy
from agent_adapter_langgraph import DurableTools

CONFIRM = ToolPolicy(confirm=True)
APPROVE: dict[str, Any] = {"type": "approve"}
REJECT: dict[str, Any] = {"type": "reject", "message": "too much"}


def edit(tool: str, x: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": tool, "args": {"x": x}}}


class Office:
    """An agent whose every invocation is that of a later worker: new tools, graph and durable tools on the same files.

    Args:
        folder: where the records and the effects are.
        driver: `invoke` or `ainvoke`, with its checkpointer.
        way: the way in.
        turns: what the model asks for, turn by turn.
        bodies: by tool: what its body does after its effect; may be changed between invocations.
        confirm: the policies, or the names of tools that need approval.
        inside: makes the middleware that goes inside.
        settings: of `DurableTools`.
    """

    def __init__(
        self,
        folder: Path,
        driver: Any,
        way: str,
        *turns: Any,
        bodies: Mapping[str, Callable[[str], Any] | None] | None = None,
        confirm: Any = ("pay",),
        inside: Callable[[], list[Any]] = list,
        **settings: Any,
    ) -> None:
        self.oracle = Oracle(folder / "effects")
        self.chat = ScriptedChat(*turns)
        self.bodies = {"look": None, "pay": None, "mail": None, **(bodies or {})}
        self.policies = confirm if isinstance(confirm, Mapping) else dict.fromkeys(confirm, CONFIRM)
        self._file = folder / "runs.db"
        self._driver = driver
        self._way = way
        self._inside = inside
        self._settings = settings

    @property
    def ran(self) -> list[str]:
        """Every effect so far."""
        return self.oracle.lines

    def app(self, *, within: bool = False) -> Any:
        """The agent; `within` another graph it has no checkpointer of its own."""
        durable = DurableTools(self._file, policies=self.policies, **self._settings)
        tools = [self.oracle.tool(name, then) for name, then in self.bodies.items()]
        saver = None if within else self._driver.saver
        return durable_app(self._way, durable, self.chat, tools, saver, *self._inside())

    async def go(self, given: Any = GO, config: Any = THREAD) -> Any:
        return await self._driver.invoke(self.app(), given, config)

    async def again(self) -> Any:
        """Resumed without an answer."""
        return await self.go(None)

    async def answer(self, value: Any) -> Any:
        return await self.go(Command(resume=value))

    async def decide(self, asked: Any, **decisions: Any) -> Any:
        """The named decisions, each in the interrupt that shows its call."""
        return await self.answer(by_call(asked, decisions))


def by_call(asked: Any, decisions: Mapping[str, Any]) -> dict[str, Any]:
    """An answer by interrupt id, and inside it by call id."""
    answer: dict[str, Any] = {}
    for each in interrupts(asked):
        named = {n: decisions[n] for n in each.value["tool_call_ids"] if n in decisions}
        if named:
            answer[each.id] = named
    return answer


def requests(asked: Any) -> dict[str, tuple[str, Any]]:
    """What is asked, over all open interrupts: cause and arguments, by call id."""
    return {
        name: (cause, action["args"])
        for each in interrupts(asked)
        for name, cause, action in zip(
            each.value["tool_call_ids"],
            each.value["causes"],
            each.value["action_requests"],
            strict=True,
        )
    }


def notes(asked: Any) -> list[str]:
    return [each.value.get("note", "") for each in interrupts(asked)]
