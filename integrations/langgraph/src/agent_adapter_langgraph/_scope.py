"""Whose calls are counted together: those of one execution of a task, of a durable node, or of a tool's body."""

import os
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from agent_adapter_langgraph._compat import step_of, steps_so_far
from agent_adapter_langgraph._visit import Visit

REMEMBERED = 10_000


@dataclass(frozen=True)
class CallScope:
    """Whose calls are counted together: those of one execution of a durable node, or of one tool's body.

    Attributes:
        base: what names the scope, the same when it is entered again.
        namespace: the checkpoint namespace that it runs in.
        execution: tells one execution from the next in this process.
    """

    base: str
    namespace: str
    execution: str

    def place(self, visit: Visit) -> str:
        """Where below the scope the visit is: names, and for each graph that has checkpoints of its own, its step."""
        below = visit.namespace.removeprefix(self.namespace).lstrip("|")
        if not below:
            return self.base
        sent = "" if visit.sent is None else str(visit.sent)
        return f"{self.base}|{_without_task_ids(visit, below)}|{sent}"


# Whose calls the present code makes: those of a durable node or of a tool's body; None elsewhere.
current_scope: ContextVar[CallScope | None] = ContextVar("agent_adapter_call_scope", default=None)


@contextmanager
def scope_of(base: str, namespace: str) -> Iterator[None]:
    """Where calls are counted together under this name, from one."""
    token = current_scope.set(CallScope(base, namespace, uuid.uuid4().hex))
    try:
        yield
    finally:
        current_scope.reset(token)


def _without_task_ids(visit: Visit, below: str) -> str:
    """The namespace below a scope: a retry changes the ids of tasks; the step of the graph that a task is of stays.

    A `@task` stands on its caller's checkpoint; a graph has checkpoints of its own, and may go on in its middle.
    """
    stands_on: Mapping[str, str] = visit.configurable.get("checkpoint_map") or {}
    walked = visit.namespace.removesuffix(below).rstrip("|")
    above = walked.split("|")
    parent = stands_on.get("")
    for end in range(1, len(above)):
        parent = stands_on.get("|".join(above[:end]), parent)
    parts = []
    for part in below.split("|"):
        checkpoint = stands_on.get(walked)
        step = step_of(checkpoint) if checkpoint is not None and checkpoint != parent else ""
        parent = parent if checkpoint is None else checkpoint
        if not part.isdigit():
            parts.append(f"{part.split(':')[0]}@{step}")
        walked = f"{walked}|{part}" if walked else part
    return "|".join(parts)


class _Occurrences:
    """How many equal calls each execution of a task has made; starts again when the task is entered again."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, ...], Counter[tuple[str, str]]] = OrderedDict()
        self._lock = threading.Lock()

    def next(self, execution: tuple[str, ...], tool: str, digested: str) -> int:
        """How many equal calls came before; this one is counted."""
        with self._lock:
            counts = self._of(execution)
            occurrence = counts[tool, digested]
            counts[tool, digested] += 1
            return occurrence

    def in_named_run(self, visit: Visit, place: str, call: tuple[str, str], occurrence: int) -> int:
        """The call's number in a named request: the node may have made equal ones in earlier steps of this run of the graph.

        Args:
            visit: the visit that makes the call.
            place: where the call is counted.
            call: its tool and digest.
            occurrence: its number in this execution of the node; an execution that is repeated counts anew.
        """
        run = (
            "named",
            str(visit.run_name),
            visit.thread,
            place,
            str(steps_so_far(visit.configurable, 0)),
        )
        with self._lock:
            counts = self._of(run)
            earlier = sum(
                n
                for (step, key), n in counts.items()
                if key == "|".join(call) and int(step) < visit.step
            )
            now = (str(visit.step), "|".join(call))
            counts[now] = max(counts[now], occurrence + 1)
            return earlier + occurrence

    def so_far(self, execution: tuple[str, ...], tool: str, digested: str) -> int:
        """How many equal calls came before; nothing is counted."""
        with self._lock:
            return self._of(execution)[tool, digested]

    def _of(self, execution: tuple[str, ...]) -> Counter[tuple[str, str]]:
        counts = self._counts.setdefault(execution, Counter())
        self._counts.move_to_end(execution)
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
        return counts

    def forget(self) -> None:
        """Start anew, in a forked child."""
        self._lock = threading.Lock()


occurrences = _Occurrences()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=occurrences.forget)
