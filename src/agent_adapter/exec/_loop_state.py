"""The tool loop as a table: (phase, event) -> state. Pure: no I/O, no clock, no model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent_adapter.exec.checkpoints import CheckpointStatus
from agent_adapter.models import Message, ModelReply, Usage

Phase = Literal["asking", "calling", "paused", "ended"]


@dataclass(frozen=True)
class Replied:
    """The model's reply is there."""

    reply: ModelReply


@dataclass(frozen=True)
class Answered:
    """Every call of the turn has its result; `messages` tell the model so."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Paused:
    """Calls of the turn wait for a person."""


@dataclass(frozen=True)
class Resumed:
    """A worker has taken up a paused or crashed run."""


Event = Replied | Answered | Paused | Resumed


@dataclass(frozen=True)
class LoopState:
    """Where a loop is.

    Attributes:
        phase: "asking" the model, "calling" tools, "paused" for a person, "ended".
        messages: the whole history.
        turn: how many replies there were.
        usage: of all replies.
        reply: the last reply.
        added: the messages that came with the last event; a save stores these alone.
        moved: the last event ended a turn's calls for good, so that a new segment begins.
    """

    phase: Phase
    messages: tuple[Message, ...]
    turn: int = 0
    usage: Usage = field(default_factory=Usage)
    reply: ModelReply | None = None
    added: tuple[Message, ...] = ()
    moved: bool = False

    @property
    def status(self) -> CheckpointStatus:
        """The status under which the position is stored."""
        return _STATUS[self.phase]


_STATUS: Mapping[Phase, CheckpointStatus] = {
    "asking": "running",
    "calling": "running",
    "paused": "paused",
    "ended": "done",
}


def first(messages: tuple[Message, ...]) -> LoopState:
    """The state of a loop that has not asked its model yet."""
    return LoopState("asking", messages, added=messages)


def advance(state: LoopState, event: Event) -> LoopState:
    """The state after the event.

    Raises:
        ValueError: the event cannot happen in this phase.
    """
    move = _TABLE.get((state.phase, type(event)))
    if move is None:
        raise ValueError(f"{type(event).__name__} cannot happen while a loop is {state.phase}")
    return move(state, event)


def _replied(state: LoopState, event: Any) -> LoopState:
    reply: ModelReply = event.reply
    return replace(
        state,
        phase="calling" if reply.calls else "ended",
        messages=(*state.messages, reply.message),
        # The answers to the calls before were not saved on their own: they are stored together with this reply.
        added=(*state.added, reply.message),
        turn=state.turn + 1,
        usage=state.usage + reply.usage,
        reply=reply,
        moved=True,
    )


def _answered(state: LoopState, event: Any) -> LoopState:
    messages = (*state.messages, *event.messages)
    return replace(state, phase="asking", messages=messages, added=event.messages, moved=False)


def _paused(state: LoopState, event: Any) -> LoopState:
    del event
    return replace(state, phase="paused", added=(), moved=False)


def _resumed(state: LoopState, event: Any) -> LoopState:
    del event
    phase: Phase = "calling" if state.phase == "paused" else state.phase
    return replace(state, phase=phase, added=(), moved=False)


_TABLE: Mapping[tuple[Phase, type], Callable[[LoopState, Any], LoopState]] = {
    ("asking", Replied): _replied,
    ("calling", Answered): _answered,
    ("calling", Paused): _paused,
    ("asking", Resumed): _resumed,
    ("calling", Resumed): _resumed,
    ("paused", Resumed): _resumed,
}
