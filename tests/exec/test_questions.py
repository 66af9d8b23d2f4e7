"""Answers about calls in doubt: what is read as a decision, and that everything else decides nothing."""

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import pytest

# The seam exports `Answer` and the readers; the decisions are compared by class here.
from agent_adapter.exec._questions import CAUSES, DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Question, read_answer, read_answers

QUESTION = Question(
    id="0" * 32,
    cause="died",
    tool="charge",
    arguments={"amount": 5},
    call_id="call_1",
    idempotency_key="k" * 64,
    owner_known_dead=True,
)
SECOND = replace(QUESTION, id="1" * 32, call_id="call_2")
THIRD = replace(QUESTION, id="2" * 32, call_id="call_3")
YES, NO = {"type": "approve"}, {"type": "reject"}

ACCEPTED = [
    ({"type": "approve"}, Rerun()),
    ({"type": "respond", "message": "paid"}, Happened("paid")),
    ({"type": "respond", "message": {"receipt": [1, None]}}, Happened({"receipt": [1, None]})),
    ({"type": "respond", "message": ""}, Happened("")),
    ({"type": "respond", "message": None}, Happened(None)),
    ({"type": "reject"}, DoNotRun()),
    ({"type": "reject", "message": "too late"}, DoNotRun("too late")),
    ({"type": "reject", "message": None}, DoNotRun()),
    (True, Rerun()),
    (False, DoNotRun()),
    ("approve", Rerun()),
    ("reject", DoNotRun()),
    # The older inbox form.
    ({"type": "accept"}, Rerun()),
    ({"type": "accept", "args": None}, Rerun()),
    ({"type": "response", "args": "paid"}, Happened("paid")),
    ({"type": "response", "args": None}, Happened(None)),
    ({"type": "ignore"}, DoNotRun()),
    ({"type": "ignore", "args": None}, DoNotRun()),
    (OrderedDict(type="approve"), Rerun()),
]

MALFORMED: list[Any] = [
    # Nothing, and what only looks like a yes.
    None,
    "",
    0,
    1,
    -1,
    1.0,
    float("nan"),
    b"approve",
    (),
    [],
    {},
    set(),
    object(),
    "yes",
    "ok",
    "y",
    "true",
    "True",
    "Approve",
    "APPROVE",
    " approve",
    "approve ",
    "approve\n",
    "approved",
    "accept",
    "respond",
    "ignore",
    "approve, please",
    '{"type": "approve"}',
    # An edit: what may have happened cannot be changed any more.
    {"type": "edit"},
    {"type": "edit", "edited_action": {"name": "charge", "args": {"amount": 6}}},
    {"type": "edit", "args": {"action": "charge", "args": {"amount": 6}}},
    {"type": "edit", "args": None},
    # The type is missing, unknown or no word.
    {"approve": True},
    {"decision": "approve"},
    {"type": None},
    {"type": ""},
    {"type": True},
    {"type": ["approve"]},
    {"type": {"type": "approve"}},
    {"type": "Approve"},
    {"type": "approved"},
    {"type": "accepted"},
    {"type": "rerun"},
    {"Type": "approve"},
    {b"type": "approve"},
    {"type": b"approve"},
    # Something more is said than is understood.
    {"type": "approve", "message": "fine"},
    {"type": "approve", "args": None},
    {"type": "approve", "args": {"amount": 6}},
    {"type": "approve", "edited_action": None},
    {"type": "accept", "args": {"amount": 6}},
    {"type": "accept", "args": ""},
    {"type": "accept", "message": "fine"},
    {"type": "respond", "message": "paid", "args": None},
    {"type": "response", "args": "paid", "message": "paid"},
    {"type": "reject", "message": "no", "args": None},
    {"type": "reject", "args": None},
    {"type": "ignore", "args": "later"},
    {"type": "ignore", "message": "later"},
    # Something less is said than is needed, or of the wrong kind.
    {"type": "respond"},
    {"type": "respond", "args": "paid"},
    {"type": "response"},
    {"type": "response", "message": "paid"},
    {"type": "reject", "message": 5},
    {"type": "reject", "message": ["no"]},
    {"type": "reject", "message": {"text": "no"}},
    # In the wrong wrapping.
    {"decisions": {"type": "approve"}},
    {"decisions": "approve"},
    {"decisions": True},
    {"decisions": None},
    {"decisions": []},
    {"decisions": [{"type": "approve"}], "more": 1},
    {"decisions": {"0": {"type": "approve"}}},
    {"Decisions": [{"type": "approve"}]},
    ({"type": "approve"},),
    [[[True]]],
    [[[{"type": "approve"}]]],
    [{"type": "approve"}, {"type": "approve"}],
    [None],
    [{}],
    [{"type": "edit"}],
]


@pytest.mark.parametrize(("value", "decision"), ACCEPTED, ids=repr)
def test_a_plain_answer_is_one_decision(value, decision):
    assert read_answer(value) == decision
    assert read_answers(value, [QUESTION]) == {QUESTION.id: decision}


@pytest.mark.parametrize(("value", "decision"), ACCEPTED, ids=repr)
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda value: [value],
        lambda value: {"decisions": [value]},
        lambda value: {QUESTION.call_id: value},
        lambda value: {QUESTION.request_id: value},
    ],
    ids=["inbox", "decisions", "call id", "request id"],
)
def test_one_question_may_be_answered_in_every_form(value, decision, wrapped):
    assert read_answers(wrapped(value), [QUESTION]) == {QUESTION.id: decision}


@pytest.mark.parametrize("value", MALFORMED, ids=repr)
def test_what_is_not_plainly_said_decides_nothing(value):
    """item 120"""
    assert read_answer(value) is None
    assert read_answers(value, [QUESTION]) == {}


@pytest.mark.parametrize("value", MALFORMED, ids=repr)
def test_one_malformed_answer_among_several_decides_none(value):
    questions = [QUESTION, SECOND]
    assert read_answers({"decisions": [YES, value]}, questions) == {}
    assert read_answers([value, NO], questions) == {}
    assert read_answers({"call_1": YES, "call_2": value}, questions) == {}


@pytest.mark.parametrize(
    "wrapped", [lambda value: value, lambda value: [value]], ids=["alone", "in a list"]
)
def test_the_inbox_accepts_with_the_request_that_it_showed(wrapped):
    """Its schema: `args` is the shown `ActionRequest`, with the values turned into text."""
    answer = {"type": "accept", "args": {"action": "charge", "args": {"amount": "5"}}}
    assert read_answers(wrapped(answer), [QUESTION]) == {QUESTION.id: Rerun()}


def test_an_inbox_acceptance_of_another_tool_decides_nothing():
    answer = {"type": "accept", "args": {"action": "refund", "args": {"amount": "5"}}}
    assert read_answers([answer], [QUESTION]) == {}


@pytest.mark.parametrize(
    "wrapped",
    [lambda answers: answers, lambda answers: {"decisions": answers}],
    ids=["list", "decisions"],
)
def test_positions_count_at_full_length_only(wrapped):
    questions = [QUESTION, SECOND, THIRD]
    full = [YES, NO, {"type": "respond", "message": "paid"}]
    assert read_answers(wrapped(full), questions) == {
        QUESTION.id: Rerun(),
        SECOND.id: DoNotRun(),
        THIRD.id: Happened("paid"),
    }
    for length in (0, 1, 2, 4):
        assert read_answers(wrapped((full * 2)[:length]), questions) == {}


def test_legacy_responses_count_by_position():
    answer = [[{"type": "accept", "args": None}], {"type": "ignore", "args": None}]
    assert read_answers(answer, [QUESTION, SECOND]) == {QUESTION.id: Rerun(), SECOND.id: DoNotRun()}


@pytest.mark.parametrize("value", [value for value, _ in ACCEPTED], ids=repr)
def test_one_answer_never_stands_for_several_questions(value):
    assert read_answers(value, [QUESTION, SECOND]) == {}
    assert read_answers([value], [QUESTION, SECOND]) == {}


def test_names_answer_some_of_the_questions():
    questions = [QUESTION, SECOND, THIRD]
    assert read_answers({"call_2": NO}, questions) == {SECOND.id: DoNotRun()}
    assert read_answers({THIRD.request_id: True, "call_1": YES}, questions) == {
        THIRD.id: Rerun(),
        QUESTION.id: Rerun(),
    }


@pytest.mark.parametrize(
    "name",
    ["call_9", "", QUESTION.id, "q-" + "9" * 32, "Call_1", None, 0, "charge", "type", "decisions"],
)
def test_an_unknown_name_spoils_the_whole_answer(name):
    """The bare id of a question is none of its names: LangGraph takes 32 hex digits for an interrupt id."""
    assert read_answers({"call_1": YES, name: YES}, [QUESTION, SECOND]) == {}
    assert read_answers({name: YES}, [QUESTION, SECOND]) == {}


def test_a_question_named_twice_spoils_the_answer_even_when_both_agree():
    answer = {"call_1": YES, QUESTION.request_id: YES}
    assert read_answers(answer, [QUESTION, SECOND]) == {}


def test_a_call_id_that_two_questions_share_names_none():
    twin = replace(SECOND, call_id="call_1")
    assert read_answers({"call_1": YES}, [QUESTION, twin]) == {}
    assert read_answers({twin.request_id: NO}, [QUESTION, twin]) == {twin.id: DoNotRun()}
    assert read_answers({"call_1": YES, "call_3": YES}, [QUESTION, twin, THIRD]) == {}


def test_a_call_id_cannot_pose_as_the_request_id_of_another_question():
    posing = replace(SECOND, call_id=QUESTION.request_id)
    assert read_answers({QUESTION.request_id: YES}, [posing, QUESTION]) == {QUESTION.id: Rerun()}
    assert read_answers({QUESTION.request_id: YES}, [QUESTION, posing]) == {QUESTION.id: Rerun()}


@pytest.mark.parametrize("value", [True, YES, [YES], {"decisions": [YES]}, {}, None], ids=repr)
def test_without_questions_nothing_is_decided(value):
    assert read_answers(value, []) == {}


def test_a_request_id_is_never_32_bare_hex_digits():
    assert QUESTION.request_id == f"q-{QUESTION.id}"


@pytest.mark.parametrize("cause", sorted(set(CAUSES) - {"approval"}))
def test_a_question_says_what_is_known_and_what_each_answer_means(cause):
    text = replace(QUESTION, cause=cause, detail="HTTP 502").describe()
    assert text == (
        f"Tool 'charge' may already have taken effect: {CAUSES[cause]} (HTTP 502). The worker that ran it is known to "
        f"be dead. Idempotency key: {'k' * 64}. "
        "approve = run it again, respond = it happened and this is the result, reject = do not run it."
    )
    assert "NOT known to be dead" in replace(QUESTION, owner_known_dead=False).describe()
