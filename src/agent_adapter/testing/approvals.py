"""The contract of a store of approvals: one coroutine per promise, gathered in a tuple.

Each takes a store that holds nothing, uses it and asserts. A backend keeps the contract if every promise returns:

    for promise in APPROVAL_STORE:
        await promise(make_store())

The promises are plain asserts: `pytest.register_assert_rewrite("agent_adapter.testing")` in a `conftest.py`, before the
import, makes a failure show both sides.
"""

from agent_adapter.testing import _approval_deciding as deciding
from agent_adapter.testing import _approval_parking as parking
from agent_adapter.testing._approval_values import approval_request
from agent_adapter.testing._store_values import Promise

APPROVAL_STORE: tuple[Promise, ...] = (
    parking.it_has_the_protocol,
    parking.a_parked_request_is_given_back,
    parking.parking_again_changes_nothing,
    parking.an_id_stands_for_one_call,
    parking.arguments_come_back_exactly,
    parking.arguments_that_are_not_plain_are_refused,
    parking.ids_are_plain_text,
    parking.what_is_given_and_read_is_a_copy,
    parking.pending_requests_are_listed_in_order,
    parking.one_of_many_racing_parks_stands,
    parking.bad_arguments_are_refused,
    deciding.a_decision_is_kept_exactly,
    deciding.the_first_decision_stands,
    deciding.a_denial_stands_too,
    deciding.what_was_not_parked_cannot_be_decided,
    deciding.an_expired_request_takes_no_decision,
    deciding.a_request_may_be_decided_before_it_expires,
    deciding.an_undecided_request_cannot_be_used,
    deciding.a_decision_is_used_once,
    deciding.requests_are_decided_one_by_one,
    deciding.one_of_many_racing_decisions_stands,
    deciding.one_of_many_racing_consumers_wins,
    deciding.edits_without_an_exact_form_are_refused,
)

__all__ = ["APPROVAL_STORE", "approval_request"]
