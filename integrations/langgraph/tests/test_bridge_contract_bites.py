"""The published contract of bridges finds each bridge that breaks one of its promises."""

import lg_broken as broken
import pytest

from agent_adapter.testing.bridges import BRIDGE, Stage

PROMISES = {promise.__name__: promise for promise in BRIDGE}


@pytest.mark.parametrize(
    ("worker", "promise"),
    [
        (broken.Bare, "a_call_in_doubt_is_asked_about"),
        (broken.Bare, "run_it_again_is_one_more_effect"),
        (broken.Forgetful, "a_call_in_doubt_is_asked_about"),
        (broken.Forgetful, "an_approval_lets_it_run_once"),
        (broken.Careless, "a_call_that_was_claimed_is_in_doubt"),
        (broken.Careless, "a_second_death_is_a_second_question"),
        (broken.Ungated, "a_call_that_needs_approval_waits"),
        (broken.Credulous, "an_answer_that_says_nothing_plainly_leaves_it_waiting"),
        (broken.Credulous, "a_refusal_never_lets_it_run"),
        (broken.Hasty, "an_answer_to_another_question_leaves_it_waiting"),
        (broken.Hasty, "an_approval_counts_for_one_attempt"),
        (broken.Reworded, "a_finished_call_is_answered_from_the_record"),
    ],
)
async def test_finds(worker, promise, tmp_path):
    with pytest.raises(AssertionError):
        await PROMISES[promise](Stage(worker, tmp_path))
