"""An answer that is missing, malformed, short, meant for another call or used before decides nothing: the call waits on."""

from typing import Any

import pytest
from langgraph.types import Command
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, causes, durable_app, interrupts

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
MALFORMED = {
    "unknown word": "okay",
    "an empty mapping": {},
    "an unknown type": {"type": "accept-all"},
    "an edit": {"type": "edit", "edited_action": {"name": "charge", "args": {"x": "6"}}},
    "a list of two": {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    "another call": {"c2": {"type": "approve"}},
    "a refusal with a number": {"type": "reject", "message": 5},
}


@pytest.fixture
def stuck(way, durable, sync_saver, oracle) -> Any:
    """An agent whose charge raised after its effect, and the question about it."""

    def raises(_: str) -> str:
        raise TimeoutError("no answer")

    app = durable_app(way, durable, CHAT, [oracle.tool("charge", raises)], sync_saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)
    asked = app.invoke(None, THREAD)
    assert causes(asked) == ["raised"]
    return app, interrupts(asked)[0]


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
def test_the_question_comes_back_and_says_why(answer, stuck, oracle):
    app, question = stuck

    still = app.invoke(Command(resume={question.id: answer}), THREAD)

    (again,) = interrupts(still)
    assert again.id == question.id
    assert again.value == {**question.value, "note": again.value.get("note")}
    assert "nothing was decided" in again.value["note"]
    assert answers(still) == {}
    assert oracle.lines == ["charge:5"]


def test_unanswered_three_times_it_still_waits(stuck, oracle):
    app, question = stuck

    asked = [interrupts(app.invoke(None, THREAD)) for _ in range(3)]

    assert asked == [[question]] * 3
    assert oracle.lines == ["charge:5"]


def test_after_a_malformed_answer_a_good_one_counts(stuck, oracle):
    app, question = stuck
    app.invoke(Command(resume={question.id: "okay"}), THREAD)

    done = app.invoke(Command(resume={question.id: {"type": "respond", "message": "paid"}}), THREAD)

    assert answers(done) == {"c1": "paid"}
    assert oracle.lines == ["charge:5"]


def test_an_answer_to_an_attempt_that_is_over_decides_nothing_about_the_next(stuck, oracle):
    app, question = stuck
    approve = Command(resume={question.id: {"type": "approve"}})
    with pytest.raises(TimeoutError):
        app.invoke(approve, THREAD)
    (second,) = interrupts(app.invoke(None, THREAD))

    (still,) = interrupts(app.invoke(approve, THREAD))

    assert (second.id != question.id, still.id) == (True, second.id)
    assert oracle.lines == ["charge:5", "charge:5"]
