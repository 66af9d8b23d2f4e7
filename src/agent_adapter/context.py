"""The run context: who and what a call belongs to, handed to every tool that declares `ctx`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_adapter.limits import Meter, RunLimits

__all__ = ["RunContext"]


@dataclass(frozen=True)
class RunContext:
    """Facts about the run that a tool may need but a model must not choose.

    It is handed on as it is: never validated, never sealed, and no part of a call's identity. One context stands for
    one run: calls that share it share its limits.

    Attributes:
        run_id: the durable run, None outside one.
        user: on whose behalf the run acts.
        tenant: whose data the run may see.
        meta: anything else that the application wants its tools to have.
        limits: what the run may use, beside the executor's own limits.
        meter: what the run has used.
    """

    run_id: str | None = None
    user: str | None = None
    tenant: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    limits: RunLimits | None = None
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
