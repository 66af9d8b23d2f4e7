"""Every exception that agent_adapter raises, in one tree.

The branch says whose turn it is: `ToolUsageError` the calling code, `ConfigError` and `MissingDependency` the setup,
`ModelError` the model, `ToolFailed` the tool, `RunLimitExceeded` a limit, `CheckpointError` the stored run.
Classes hold facts as attributes and render them in `__str__`, so that a handler never has to parse a message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any


class AgentAdapterError(Exception):
    """The root of every error of this package."""


class ToolUsageError(AgentAdapterError):
    """The calling code used the API wrongly; nothing was done."""


class NotSealable(ToolUsageError):
    """A value has no exact canonical form, so it can be neither stored nor hashed.

    Attributes:
        path: where the value sits, `$` is the root: `$.items[2].when`.
        type_name: the type that was met, `module.qualname`.
    """

    def __init__(self, path: str, type_name: str, reason: str = "has no exact stored form") -> None:
        super().__init__(path, type_name, reason)
        self.path = path
        self.type_name = type_name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.type_name} {self.reason}"


class ConfigError(AgentAdapterError):
    """A setting is wrong or missing; the message names the setting and the ways out."""


class MissingDependency(AgentAdapterError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""

    def __init__(self, library: str, *, extra: str) -> None:
        super().__init__(library, extra)
        self.library = library
        self.extra = extra

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), extra=self.extra), (self.library,)

    def __str__(self) -> str:
        return f"{self.library} is not installed: pip install agent-adapter[{self.extra}]"


class ModelError(AgentAdapterError):
    """The model failed or answered what its protocol does not allow."""


class RunLimitExceeded(AgentAdapterError):
    """A limit of the run was reached; the message names it."""


class AgentDepthExceeded(RunLimitExceeded):
    """An agent was called by an agent deeper than its `max_depth` allows; it did not begin."""


class ToolFailed(AgentAdapterError):
    """A tool call ended without a value. `__cause__` is the tool's own exception where there was one.

    Attributes:
        tool: the tool's name.
        call_id: the id of the call.
    """

    def __init__(self, tool: str, call_id: str, message: str) -> None:
        super().__init__(tool, call_id, message)
        self.tool = tool
        self.call_id = call_id
        self.message = message

    def __str__(self) -> str:
        return f"tool {self.tool!r} (call {self.call_id}): {self.message}"


class ToolNotFound(ToolFailed):
    """No tool of that name is registered; nothing ran."""


class ToolArgumentsInvalid(ToolFailed):
    """The arguments do not fit the tool's schema; nothing ran."""


class ToolTimeout(ToolFailed):
    """The tool did not end within its timeout; a sync tool's thread may still be running."""


class ToolDenied(ToolFailed):
    """A guard or a person refused the call, nobody could be asked, or a guard withheld its result; the message says why."""


class ApprovalPending(ToolFailed):
    """The call waits for a person; nothing ran.

    Attributes:
        requests: what has to be decided, `ApprovalRequest` values.
    """

    def __init__(self, tool: str, call_id: str, requests: Sequence[Any]) -> None:
        super().__init__(tool, call_id, "waits for a person's decision")
        self.requests = tuple(requests)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tool, self.call_id, self.requests)

    def __str__(self) -> str:
        ids = ", ".join(str(request.id) for request in self.requests)
        return f"{super().__str__()}: {ids}"


class CheckpointError(AgentAdapterError):
    """Something about a stored run; these errors always escape, they never become a tool's result."""


class CheckpointNotFound(CheckpointError):
    """Nothing is stored under this run id."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id!r}: nothing is stored"


class CheckpointConflict(CheckpointError):
    """Another worker owns or moved what this one wanted to write; this one wrote nothing and must start nothing more."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason = reason

    def __str__(self) -> str:
        return f"run {self.run_id!r}: {self.reason}"


class CheckpointStoreCorrupt(CheckpointError):
    """What is stored is unreadable, contradicts itself, or its seal does not match; nothing in it was used."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason = reason

    def __str__(self) -> str:
        return f"run {self.run_id!r}: {self.reason}"


@dataclass(frozen=True)
class DoubtfulCall:
    """One call in doubt: it logged `started` and nothing after, so its effect may have happened.

    `question_id` names this exact attempt; a decision given under it fits no other.
    """

    question_id: str
    tool: str
    arguments: Any
    key: str
    idempotency_key: str | None
    owner_known_dead: bool


class RecoveryNeedsDecision(CheckpointError):
    """Calls may have taken effect and their tools are not idempotent: somebody has to say what happened."""

    def __init__(self, run_id: str, calls: Sequence[DoubtfulCall]) -> None:
        super().__init__(run_id, tuple(calls))
        self.run_id = run_id
        self.calls = tuple(calls)

    def __str__(self) -> str:
        names = ", ".join(
            f"{call.tool} (question {call.question_id}; "
            f"its worker is {'' if call.owner_known_dead else 'NOT '}known to be dead)"
            for call in self.calls
        )
        return (
            f"run {self.run_id!r}: in doubt: {names}. Answer each with Rerun(), Happened(value) or DoNotRun(reason), "
            "or declare the tool idempotent"
        )


class ApprovalConflict(AgentAdapterError):
    """A question was already answered differently, or its answer was already used; nothing ran."""
