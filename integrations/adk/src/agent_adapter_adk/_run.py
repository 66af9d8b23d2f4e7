"""One execution of a runner as the plugin sees it: which invocation, under which name, inside which call, and its events."""

import asyncio
import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.context import Context
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.adk.tools.tool_confirmation import ToolConfirmation

from agent_adapter.errors import ConfigError
from agent_adapter.exec.integration import (
    CallId,
    Decision,
    Lease,
    Question,
    in_background,
    stable_hash,
)
from agent_adapter_adk._events import calls_in, newest_first

RUN_NAME = "agent_adapter_run"


# How an id is marked that the model gave before: `~2` is the second call of that id, `@again2` the same call of a named
# request that is delivered a second time.
AGAIN = "~"
REDELIVERED = "@again"
_REDELIVERED = re.compile(rf"{REDELIVERED}\d+$")


def made_before(call_id: str) -> str:
    """The id under which a call of a named request was recorded first."""
    return _REDELIVERED.sub("", call_id)


@dataclass
class Inside:
    """The call that the present code is inside of, seen from a runner of its own in there.

    Attributes:
        run: the run that makes the call.
        call: the call.
        asked: what calls inside it asked a person.
    """

    run: "Run"
    call: CallId
    asked: list[Question] = field(default_factory=list)


# The call around the present code, where its inside is protected call by call.
inside: ContextVar[Inside | None] = ContextVar("agent_adapter_adk_inside", default=None)


@contextmanager
def entered(run: "Run", call: CallId) -> Iterator[Inside]:
    """Where the code inside a call runs; its questions are collected."""
    here = Inside(run, call)
    token = inside.set(here)
    try:
        yield here
    finally:
        inside.reset(token)


class Held:
    """The right to work on an invocation, given back when its run ends: as ADK tells, or without a word.

    ADK tells nobody about a run that was cancelled or stopped; then its task, or its session, is at an end.
    """

    def __init__(self, lease: Lease, session: Session) -> None:
        self._lease = lease
        self._task = asyncio.current_task()
        weakref.finalize(session, self._let_go, None).atexit = False
        if self._task is not None:
            self._task.add_done_callback(self._let_go)

    async def release(self) -> None:
        """Give it back."""
        if self._task is not None:
            self._task.remove_done_callback(self._let_go)
        await self._lease.release()

    def _let_go(self, _: object) -> None:
        """Give it back although nobody can wait for it."""
        if self._lease.held:
            in_background(self._lease.release())


@dataclass(eq=False)
class Run:
    """One execution of a runner.

    Attributes:
        place: app, user, session and invocation.
        name: the caller's own name for this request, if it gave one.
        outer: the call that this run is inside of, None for a run that a person started.
        resumable: whether ADK goes on with an invocation that was interrupted.
        live: whether the run is a live conversation, which is left alone.
        store_run: the store's run id for its calls.
        listing: the name under which the store lists that run.
        decisions: what people said, by question id.
        confirmations: what people said to ADK's own questions, by the id of the call.
        settled: by state key, when the call that wrote it last had finished.
        replies: how many replies each agent has had in this run.
        models: the agents whose model has replied in this run.
        began_again: the places of agents that had made calls of their turn before they were started here.
        long_running: by call id, an event as ADK sees it and as it is, for calls that ADK is to run again first.
        lease: the right to work on the invocation.
        held: the run ends before it begins, since a question is open.
        resumed: the invocation was begun by an earlier run.
        began_with: the ids of the invocation's events that were there when the run began.
        waiting: the ids of the calls that wait for a person.
        leaving: by call id, the contexts of calls that hand over to another agent, or leave a loop.
        withheld: the ids of those that wait with a call of their turn, and get no response yet.
        ended_by: the agent whose end was the invocation's, where it was over by then.
    """

    place: tuple[str, str, str, str]
    name: str | None
    outer: Inside | None
    resumable: bool = True
    live: bool = False
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    confirmations: Mapping[str, ToolConfirmation] = field(default_factory=dict)
    settled: dict[str, int] = field(default_factory=dict)
    replies: dict[tuple[str, ...], int] = field(default_factory=dict)
    models: set[str] = field(default_factory=set)
    began_again: set[tuple[str | None, ...]] = field(default_factory=set)
    long_running: dict[str, tuple[Event, Event]] = field(default_factory=dict)
    lease: "Held | None" = None
    held: bool = False
    resumed: bool = False
    _read_of: list[Event] | None = field(default=None, repr=False)
    _read: int = field(default=0, repr=False)
    _taken: set[str] = field(default_factory=set, repr=False)
    began_with: frozenset[str] = frozenset()
    ended_by: str | None = None
    waiting: set[str] = field(default_factory=set)
    leaving: dict[str, Context] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)

    @property
    def invocation(self) -> str:
        """The invocation's id."""
        return self.place[3]

    @property
    def store_run(self) -> str:
        """The store's run id for the calls of this run."""
        if self.outer is not None:
            return self.outer.call.run
        if self.name is not None:
            return f"adk-{stable_hash('named', self.place[0], self.name)}"
        return f"adk-{stable_hash('invocation', *self.place)}"

    @property
    def listing(self) -> str:
        """The name under which the store lists them."""
        if self.outer is not None:
            return self.outer.call.name
        return named_listing(self.place[0], self.name) if self.name else listing(*self.place[:3])

    @property
    def saved(self) -> bool:
        """Whether its calls can be found again."""
        return self.outer is not None or self.name is not None or self.resumable

    @property
    def keeps_replies(self) -> bool:
        """Whether its replies have to be the same ones again, since its calls are found by them."""
        return self.outer is not None or self.name is not None

    def call_key(self, call_id: str, uses: int = 1) -> str:
        """The key of a call by its id; `uses` is which call of that id it is."""
        name = made_before(call_id) if self.name else call_id
        return self.key("call", name, *(() if uses == 1 else (str(uses),)))

    def key(self, *parts: str) -> str:
        """The key of something in this run."""
        base = () if self.outer is None else (self.outer.call.key,)
        return stable_hash(*base, *parts)[:32]

    def decided(self) -> Mapping[str, Decision]:
        """What people said, also to the questions that calls inside other calls asked."""
        return self.decisions if self.outer is None else self.outer.run.decided()

    def taken(self, session: Session) -> set[str]:
        """The ids of the session's calls; each event is read once."""
        if self._read_of is not session.events:
            self._read_of, self._read, self._taken = session.events, 0, set()
        for event in session.events[self._read :]:
            self._taken.update(str(call.id) for call in calls_in(event))
        self._read = len(session.events)
        return self._taken

    async def stop(self) -> None:
        """The run ends here without ADK's telling: whoever takes the invocation up next need not wait for its remains."""
        run = self
        while run.outer is not None:
            run = run.outer.run
        lease, run.lease = run.lease, None
        if lease is not None:
            await lease.release()

    def mark_long_running(self, call_id: str | None, session: Session) -> None:
        """Let ADK see again that this call is long-running: it has run, and may wait for its client."""
        shown, original = self.long_running.pop(call_id or "", (None, None))
        for at, event in enumerate(session.events):
            if event is shown and original is not None:
                session.events[at] = original


def listing(app: str, user: str, session: str) -> str:
    """The name under which the store lists a session's runs."""
    return f"adk:{stable_hash(app, user, session)[:32]}"


def named_listing(app: str, name: str) -> str:
    """The name under which the store lists the runs of a request that the caller named."""
    return f"adk-run:{stable_hash(app, name)[:32]}"


class Runs:
    """The runs under way in this process, found by their session object, which every context of a run shares."""

    def __init__(self) -> None:
        self._runs: dict[int, Run] = {}

    def of(self, ctx: Context | InvocationContext) -> Run:
        """The run that this context belongs to.

        Raises:
            ConfigError: its run name is malformed.
        """
        session = ctx.session
        found = self._runs.get(id(session))
        if found is None or found.invocation != ctx.invocation_id:
            ic = ctx if isinstance(ctx, InvocationContext) else ctx.get_invocation_context()
            if id(session) not in self._runs:
                weakref.finalize(session, self._runs.pop, id(session), None).atexit = False
            found = self._runs[id(session)] = _made(ic)
        return found


def _made(ic: InvocationContext) -> Run:
    around = inside.get()
    session = ic.session
    place = (session.app_name, session.user_id, session.id, ic.invocation_id)
    nested = around is not None and around.run.place[2] != session.id
    return Run(
        place=place,
        name=None if nested else _name(ic),
        outer=around if nested else None,
        resumable=ic.is_resumable,
        live=ic.live_request_queue is not None,
    )


def _name(ic: InvocationContext) -> str | None:
    """The run's name: from its configuration, or, for an answer that comes without it, from the invocation's first events."""
    given: Any = (ic.run_config.custom_metadata or {}).get(RUN_NAME) if ic.run_config else None
    if given is None:
        given = next(
            (
                event.custom_metadata[RUN_NAME]
                for event in newest_first(ic.session.events, ic.invocation_id)
                if event.custom_metadata and RUN_NAME in event.custom_metadata
            ),
            None,
        )
    if given is not None and (not isinstance(given, str) or not given):
        raise ConfigError(
            f"custom_metadata[{RUN_NAME!r}] is a non-empty string that names one request, not {given!r}"
        )
    return given
