"""Answers about calls that wait for approval: an edit keeps the tool, and what is not plainly said approves nothing."""

from dataclasses import replace
from typing import Any

import pytest

# The seam exports `Edited` and the readers; the other decisions are compared by class here.
from agent_adapter.exec._questions import CAUSES, DoNotRun, Happened, Rerun
from agent_adapter.exec.integration import Edited, Question, read_answer, read_answers

GATED = Question(
    id="0" * 32,
    cause="approval",
    tool="charge",
    arguments={"amount": 5},
    call_id="call_1",
    idempotency_key="k" * 64,
    owner_known_dead=True,
)
DOUBT = replace(GATED, id="1" * 32, cause="died", call_id="call_2")
SIX = {"amount": 6}
EDIT: dict[str, Any] = {"type": "edit", "edited_action": {"name": "charge", "args": SIX}}
INBOX_EDIT: dict[str, Any] = {"type": "edit", "args": {"action": "charge", "args": SIX}}


@pytest.mark.parametrize("edit", [EDIT, INBOX_EDIT], ids=["request", "inbox"])
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda value: value,
        lambda value: [value],
        lambda value: {"decisions": [value]},
        lambda value: {GATED.call_id: value},
        lambda value: {GATED.request_id: value},
    ],
    ids=["alone", "in a list", "decisions", "call id", "request id"],
)
def test_a_call_that_has_not_begun_may_be_edited(edit, wrapped):
    assert read_answers(wrapped(edit), [GATED]) == {GATED.id: Edited(SIX)}


@pytest.mark.parametrize("cause", sorted(set(CAUSES) - {"approval"}))
def test_what_may_have_happened_is_not_edited(cause):
    assert read_answer(EDIT, "charge", cause) is None
    assert read_answers(EDIT, [replace(GATED, cause=cause)]) == {}


def test_an_edit_may_leave_no_arguments():
    edit = {"type": "edit", "edited_action": {"name": "charge", "args": {}}}
    assert read_answers(edit, [GATED]) == {GATED.id: Edited({})}


@pytest.mark.parametrize(
    "edit",
    [
        {"type": "edit"},
        {"type": "edit", "args": None},
        {"type": "edit", "edited_action": None},
        {"type": "edit", "edited_action": {"args": SIX}},
        {"type": "edit", "edited_action": {"name": "charge"}},
        {"type": "edit", "edited_action": {"name": "refund", "args": SIX}},
        {"type": "edit", "edited_action": {"name": "Charge", "args": SIX}},
        {"type": "edit", "edited_action": {"name": "", "args": SIX}},
        {"type": "edit", "edited_action": {"name": None, "args": SIX}},
        {"type": "edit", "edited_action": {"name": "charge", "args": [6]}},
        {"type": "edit", "edited_action": {"name": "charge", "args": '{"amount": 6}'}},
        {"type": "edit", "edited_action": {"name": "charge", "args": {5: 6}}},
        {"type": "edit", "edited_action": {"name": "charge", "args": SIX, "id": "call_1"}},
        {"type": "edit", "args": {"action": "refund", "args": SIX}},
        {"type": "edit", "args": {"action": "charge", "args": SIX, "more": 1}},
        {"type": "edit", "args": SIX},
        {**EDIT, "args": INBOX_EDIT["args"]},
        {**EDIT, "message": "less"},
        {"type": "Edit", "edited_action": EDIT["edited_action"]},
        EDIT["edited_action"],
    ],
    ids=repr,
)
def test_an_edit_that_does_not_plainly_name_this_tool_and_its_arguments_decides_nothing(edit):
    """Field report B39: an edit keeps the tool."""
    assert read_answer(edit, "charge", "approval") is None
    assert read_answers({"decisions": [edit]}, [GATED]) == {}
    assert read_answers({"call_1": edit}, [GATED]) == {}


def test_one_edit_that_cannot_be_meant_spoils_the_answer_beside_good_ones():
    approve = {"type": "approve"}
    assert read_answers({"decisions": [EDIT, approve]}, [GATED, DOUBT]) == {
        GATED.id: Edited(SIX),
        DOUBT.id: Rerun(),
    }
    assert read_answers({"decisions": [approve, EDIT]}, [GATED, DOUBT]) == {}


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        ({"type": "approve"}, Rerun()),
        ({"type": "accept", "args": {"action": "charge", "args": {"amount": "5"}}}, Rerun()),
        (True, Rerun()),
        ("approve", Rerun()),
        ({"type": "respond", "message": "paid by hand"}, Happened("paid by hand")),
        ({"type": "response", "args": "paid by hand"}, Happened("paid by hand")),
        ({"type": "reject", "message": "too much"}, DoNotRun("too much")),
        ({"type": "ignore"}, DoNotRun()),
        (False, DoNotRun()),
        ("reject", DoNotRun()),
    ],
    ids=repr,
)
def test_a_call_that_has_not_begun_is_answered_like_a_doubt(value, decision):
    assert read_answers({"decisions": [value]}, [GATED]) == {GATED.id: decision}


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        1,
        1.0,
        "yes",
        "Approve",
        {},
        [],
        {"type": "approve", "args": SIX},
        {"type": "approve", "edited_action": EDIT["edited_action"]},
        {"type": "accept", "args": {"action": "refund", "args": SIX}},
        {"decision": None},
        {"approved": True},
        [{"type": "approve"}, {"type": "approve"}],
    ],
    ids=repr,
)
def test_what_is_not_plainly_said_approves_nothing(value):
    """Item 120: there is no default approval."""
    assert read_answer(value, "charge", "approval") is None
    assert read_answers(value, [GATED]) == {}
    assert read_answers({"call_1": value}, [GATED]) == {}


def test_a_request_for_approval_says_what_each_answer_means_and_claims_no_effect():
    assert replace(GATED, owner_known_dead=False).describe() == (
        "Tool 'charge' wants to run with these arguments. approve = run it, edit = run it with others, "
        "respond = do not run it, this is the result, reject = do not run it."
    )
