"""The visit that the present code is part of: a context variable, so that concurrent visits do not see each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from agent_adapter.approvals import ResumeAnswer
from agent_adapter.exec._journal import Journal


class Visit(NamedTuple):
    """What the calls of the present visit find: the answer that came with a resume, and the journal."""

    answer: ResumeAnswer | None
    journal: Journal


_visit: ContextVar[Visit | None] = ContextVar("agent_adapter_visit", default=None)


def current_visit() -> Visit | None:
    """The visit that the present code is part of, None outside one."""
    return _visit.get()


@contextmanager
def visit_scope(answer: ResumeAnswer | None, journal: Journal) -> Iterator[None]:
    """A scope whose executor calls are claimed in `journal` and may use the decisions of `answer`."""
    token = _visit.set(Visit(answer, journal))
    try:
        yield
    finally:
        _visit.reset(token)


@contextmanager
def outside_visits() -> Iterator[None]:
    """A scope in no visit: what policies do is no part of what the visit records, and happens again when it is met again."""
    token = _visit.set(None)
    try:
        yield
    finally:
        _visit.reset(token)
