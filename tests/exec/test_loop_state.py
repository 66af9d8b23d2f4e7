"""The loop's table: every (phase, event) either gives exactly one state or is refused."""

from dataclasses import replace
from itertools import product

import pytest

from agent_adapter import ToolCall
from agent_adapter.exec._loop_state import (
    Answered,
    LoopState,
    Paused,
    Replied,
    Resumed,
    advance,
    first,
)
from agent_adapter.models import Message, ModelReply, Usage

ASKED = (Message("user", "go"),)
CALLS = ModelReply(calls=(ToolCall("a", "note"),), usage=Usage(3, 2, 0.5))
FINAL = ModelReply("done", usage=Usage(1, 1, 0.25))
TOLD = Message("tool", "noted", call_id="a", name="note", status="ok")

EVENTS = {
    "calls": Replied(CALLS),
    "final": Replied(FINAL),
    "answered": Answered((TOLD,)),
    "paused": Paused(),
    "resumed": Resumed(),
}
TABLE = {
    ("asking", "calls"): ("calling", "running"),
    ("asking", "final"): ("ended", "done"),
    ("asking", "resumed"): ("asking", "running"),
    ("calling", "answered"): ("asking", "running"),
    ("calling", "paused"): ("paused", "paused"),
    ("calling", "resumed"): ("calling", "running"),
    ("paused", "resumed"): ("calling", "running"),
}
PAIRS = [*product(("asking", "calling", "paused", "ended"), EVENTS)]


@pytest.mark.parametrize(("phase", "event"), PAIRS)
def test_an_event_gives_the_phase_of_the_table_or_is_refused(phase, event):
    state = LoopState(phase, ASKED, reply=CALLS)
    expected = TABLE.get((phase, event))
    if expected is None:
        with pytest.raises(ValueError, match=phase):
            advance(state, EVENTS[event])
    else:
        after = advance(state, EVENTS[event])
        assert (after.phase, after.status) == expected


def test_a_loop_begins_with_all_of_its_messages_to_store():
    assert first(ASKED) == LoopState("asking", ASKED, added=ASKED)


def test_a_reply_counts_a_turn_and_begins_a_segment():
    state = LoopState("asking", ASKED, turn=1, usage=Usage(10, 10, 1.0))
    assert advance(state, Replied(CALLS)) == LoopState(
        "calling",
        (*ASKED, CALLS.message),
        turn=2,
        usage=Usage(13, 12, 1.5),
        reply=CALLS,
        added=(CALLS.message,),
        moved=True,
    )


def test_the_answers_of_a_turn_are_stored_together_with_the_next_reply():
    calling = replace(advance(first(ASKED), Replied(CALLS)), added=())
    answered = advance(calling, Answered((TOLD,)))
    assert (answered.messages[-1], answered.added, answered.moved) == (TOLD, (TOLD,), False)
    assert advance(answered, Replied(FINAL)).added == (TOLD, FINAL.message)


@pytest.mark.parametrize("event", ["paused", "resumed"])
def test_a_pause_and_a_resume_keep_the_segment_and_add_nothing(event):
    calling = advance(first(ASKED), Replied(CALLS))
    after = advance(calling, EVENTS[event])
    assert (after.messages, after.turn, after.reply) == (calling.messages, 1, CALLS)
    assert (after.added, after.moved) == ((), False)
