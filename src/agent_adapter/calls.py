"""What passes between a model and its tools: a call, its result, and how a tool is described. Frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

__all__ = ["CallStatus", "ErrorKind", "ToolCall", "ToolError", "ToolResult", "ToolSpec"]

CallStatus = Literal["ok", "error", "denied", "pending", "cancelled"]
ErrorKind = Literal[
    "not_found", "invalid", "failed", "timeout", "denied", "cancelled", "skipped", "pending"
]


@dataclass(frozen=True)
class ToolCall:
    """One use of a tool that a model (or any caller) asks for.

    Attributes:
        id: the caller's name for this call; results carry it back.
        name: the tool's name.
        arguments: as asked for, not yet validated.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolSpec:
    """How a tool is shown to a model: `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolError:
    """Why a call has no value, as plain text: a failure that is replayed later is equal to the first one.

    Attributes:
        kind: what went wrong, for programs.
        type: the exception's class, `module.qualname` (builtins without the module).
        message: the exception's text.
    """

    kind: ErrorKind
    type: str
    message: str

    @classmethod
    def of(cls, exc: BaseException, *, kind: ErrorKind = "failed") -> Self:
        """The error that this exception stands for."""
        return cls(kind, _type_name(type(exc)), text_of(exc))

    def __post_init__(self) -> None:
        # A subclass of str (an enum's member, for example) has no exact stored form.
        object.__setattr__(self, "type", str.__str__(self.type))
        object.__setattr__(self, "message", str.__str__(self.message))

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """How one call ended.

    Attributes:
        call_id: the call that this answers.
        tool: the tool's name.
        status: "ok" has a `value`; "error", "denied" and "cancelled" have an `error`; "pending" waits for a person.
        value: what the tool returned.
        error: why there is no value.
        approval: the id of the request that a pending call waits for.
        attempts: how often the body was started by this call.
        replayed: answered from the record; the body did not run.
        cached: answered from the result cache; the body did not run.
        duration_s: seconds spent on the body.
        cause: the tool's own exception, only where this process saw it; never stored.
    """

    call_id: str
    tool: str
    status: CallStatus = "ok"
    value: Any = None
    error: ToolError | None = None
    approval: str | None = None
    attempts: int = 0
    replayed: bool = False
    cached: bool = False
    duration_s: float = field(default=0.0, compare=False)
    cause: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.status == "ok"


def _type_name(cls: type[BaseException]) -> str:
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )


def text_of(exc: BaseException) -> str:
    """The exception's text, whatever its `__str__` does."""
    try:
        return str(exc)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide that the tool failed
        return "(its message cannot be rendered)"


def shown_value(value: object) -> str:
    """The value as Python shows it, whatever its `__repr__` does."""
    try:
        return repr(value).encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - a broken __repr__ must not hide that there is a value
        return f"(a {type(value).__qualname__} that cannot be shown)"
