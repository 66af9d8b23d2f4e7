"""Slot and Observer: a call's place in the journal, and who is told what becomes of it."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_adapter.calls import ToolResult
from agent_adapter.policies import ToolPolicy


@dataclass(eq=False)
class Slot:
    """A call's place in the journal.

    Attributes:
        tool: the tool's name.
        arguments: the validated arguments, encoded; None when they cannot be.
        digest: of the arguments, None when they cannot be encoded.
        occurrence: how many equal calls the visit made before.
        path: the children above, `"name:n/…"`, `""` at the top.
        key: `{path/}{tool}:{digest}:{occurrence}`; `@` and the given key in place of the occurrence when one was given.
        returns: the annotation from which a stored result is rebuilt.
        policy: how the tool may be run, for an observer that has to decide about a call in doubt.
        result: the recorded result that this call replays, None when it has to run.
        kept: the plain form in which the result is kept, once it is; a marker when it cannot be.
        idempotency_key: what `idempotency_key()` says inside the body; an observer may set it.
    """

    tool: str
    arguments: Any
    digest: str | None
    occurrence: int
    path: str
    key: str
    returns: Any = None
    policy: ToolPolicy = field(default_factory=ToolPolicy)
    result: ToolResult | None = None
    kept: Any = None
    idempotency_key: str | None = None


class Observer(Protocol):
    """Makes a journal durable: it is told of every call, once at its start and once at its end, replays included.

    What these methods raise escapes from the call: it never becomes the call's result.
    """

    async def started(self, slot: Slot) -> ToolResult | None:
        """The call's result when a store answers it (then the body does not run), else None, and the body may begin.

        For a slot that has a `result` the return value is not used.
        """

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Take note of how the call ended; `slot.kept` is exactly what the journal keeps of it."""
