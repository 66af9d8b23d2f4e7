"""Slot, Observer and Recorder: a call's place in the journal, and who is told what becomes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard, runtime_checkable

from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.calls import ToolResult
from agent_adapter.policies import ToolPolicy

_CAREFUL = ToolPolicy()


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
        call_id: the caller's own name for the call, where it gave one.
        idempotency_key: what `idempotency_key()` says inside the body; an observer may set it.
        given: the arguments that the body is really given, encoded, where a guard or a person changed them.
        asked: a person was shown the call before, so it is for a person to decide, whatever the tool says by now.
        decision: what a person decided about the call, once somebody did.
        running: whether the body still runs in a thread, although nobody waits for it any more; None before it began.
        container: the body only makes calls of its own, each protected by itself (an agent): it may always be entered
            again.
        spent: what the calls inside the body used of the run's limits, by name; also of a call that is replayed.
    """

    tool: str
    arguments: Any
    digest: str | None
    occurrence: int
    path: str
    key: str
    returns: Any = None
    policy: ToolPolicy = _CAREFUL
    result: ToolResult | None = None
    kept: Any = None
    call_id: str = ""
    idempotency_key: str | None = None
    given: Any = None
    asked: bool = False
    decision: ApprovalDecision | None = None
    running: Callable[[], bool] | None = None
    container: bool = False
    spent: Mapping[str, float] = field(default_factory=dict)


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


@runtime_checkable
class Recorder(Observer, Protocol):
    """An observer with a record of its own: it is asked before any policy applies, and keeps what waits for a person.

    Attributes:
        run_id: the durable run that its calls belong to.
        life: names the run, its lineage and the turn; equal whenever the call is met again, and never otherwise.
    """

    @property
    def run_id(self) -> str: ...

    @property
    def life(self) -> str: ...

    async def look(self, slot: Slot) -> ToolResult | None:
        """The recorded result, with `slot.spent` set; None when the call is not over: the policies come next.

        After None exactly one of `settle` and `leave` follows.
        """
        ...

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """The decision that is known here; None when the executor has to ask. May raise the framework's own pause."""
        ...

    async def park(self, slot: Slot, request: ApprovalRequest) -> None:
        """Record that the call waits for a person; noting it again changes nothing. `settle` follows, as "pending"."""
        ...

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """The call ends without a result: this escapes from it."""
        ...

    async def late(self, slot: Slot, result: ToolResult) -> None:
        """The body of a call that was given up has ended after all; kept beside the record."""
        ...


def is_recorder(observer: Observer) -> TypeGuard[Recorder]:
    """Whether the observer has a record of its own."""
    # A protocol's own check looks at every member, for each journal of each call; that is for strangers.
    kind = type(observer)
    if kind not in _recorders:
        _recorders[kind] = isinstance(observer, Recorder)
    return _recorders[kind]


_recorders: dict[type, bool] = {}
