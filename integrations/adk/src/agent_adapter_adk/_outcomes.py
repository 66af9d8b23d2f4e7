"""Outcomes of calls as records keep them: a result, an exception that became an answer, or what a person decided."""

import logging
from collections.abc import Mapping
from typing import Any

from agent_adapter.errors import ToolFailed, ToolUsageError
from agent_adapter.exec.integration import CallId
from agent_adapter_adk._values import Known, load_value

logger = logging.getLogger(__name__)

DONE = "result"
RAISED = "raised"
NOT_RUN = (
    "A person decided that this call is not run. Do not call it again unless the user asks for it."
)


class NotAResult(Exception):
    """A value that a tool returned says nothing that could be kept.

    Attributes:
        ambiguous: the effect may have happened all the same; otherwise the call is simply entered again.
    """

    def __init__(self, message: str, *, ambiguous: bool) -> None:
        super().__init__(message)
        self.ambiguous = ambiguous


def done(value: Any) -> dict[str, Any]:
    """A result, already plain, as an outcome."""
    return {"kind": DONE, "value": value}


def raised(error: Exception) -> dict[str, Any]:
    """The exception as an outcome."""
    return {"kind": RAISED, "type": type(error).__name__, "message": str(error)}


def load(outcome: Mapping[str, Any], call: CallId, known: Known) -> Any:
    """The recorded result; for an exception an exception of the same name and text, to be raised.

    Raises:
        NotSealable: the record names a class that is gone or has changed.
    """
    match outcome["kind"]:
        case "decided" if outcome["happened"]:
            return load_value(outcome["value"], known)
        case "decided":
            return {"error": outcome["value"] or NOT_RUN}
        case "raised":
            kind = type(str(outcome["type"]), (_Replayed,), {})
            return kind(call.tool, call.call_id, str(outcome["message"]))
        case _:
            return load_value(outcome["value"], known)


class _Replayed(ToolFailed):
    """An exception of a tool, raised again from its record."""

    def __str__(self) -> str:
        return self.message


def log_unrecordable(tool: str, refused: ToolUsageError) -> None:
    """Say that a result cannot be replayed."""
    logger.warning(
        "tool %r: its result cannot be stored and will not be replayed: %s", tool, refused
    )
