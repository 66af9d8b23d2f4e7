"""The contract of a store of durable runs: one coroutine per promise, gathered in tuples.

Each takes a store that holds nothing, uses it and asserts. A backend keeps the contract if every promise returns:

    for promise in (*CHECKPOINT_STORE, *CALL_CLAIMS, *RUN_LISTING):
        await promise(make_store())

The promises are plain asserts: `pytest.register_assert_rewrite("agent_adapter.testing")` in a `conftest.py`, before the
import, makes a failure show both sides.

`RUN_LISTING` is for stores that have the optional `RunListing` protocol; the loop and the bridges need the other two.
"""

from agent_adapter.testing import _store_claiming as claiming
from agent_adapter.testing import _store_listing as listing
from agent_adapter.testing import _store_logging as logging
from agent_adapter.testing import _store_saving as saving
from agent_adapter.testing._store_values import Promise, checkpoint, record, refused

CHECKPOINT_STORE: tuple[Promise, ...] = (
    saving.first_save_is_step_zero,
    saving.a_run_starts_once,
    saving.only_the_next_step_is_saved,
    saving.one_of_many_racing_workers_wins,
    saving.another_life_of_the_run_id_is_refused,
    saving.a_lower_segment_is_refused,
    saving.bad_arguments_are_refused,
    saving.run_ids_are_plain_text,
    saving.documents_come_back_exactly,
    saving.what_was_read_is_a_copy,
    saving.history_is_appended,
    saving.history_is_rewritten_from_where_it_is_kept,
    saving.chunks_that_are_not_stored_cannot_be_kept,
    logging.a_new_segment_drops_the_call_log,
    logging.a_save_in_the_same_segment_keeps_the_log,
    logging.only_the_current_segment_takes_records,
    logging.the_latest_record_keeps_the_first_place,
    logging.concurrent_records_all_survive,
    logging.the_stalest_running_runs_are_listed,
    logging.a_hundred_unfinished_runs_are_listed_by_default,
    logging.a_run_is_listed_while_it_runs,
    logging.a_deleted_run_is_gone,
    logging.thousands_of_saves_keep_the_whole_history,
)
CALL_CLAIMS: tuple[Promise, ...] = (
    claiming.it_has_the_protocols,
    claiming.one_of_many_claims_wins,
    claiming.a_claim_replaces_exactly_what_was_seen,
    claiming.a_claim_whose_answer_was_lost_succeeds_again,
    claiming.claims_leave_other_calls_alone,
    claiming.a_claim_needs_the_current_position,
    claiming.a_claim_on_a_record_that_is_gone_is_refused,
    claiming.bad_claims_are_refused,
    claiming.a_record_never_outlives_its_segment,
    claiming.a_new_run_and_its_first_claim_may_be_submitted_together,
    claiming.the_position_is_step_and_segment,
    claiming.one_call_is_found_with_its_segment,
)
RUN_LISTING: tuple[Promise, ...] = (
    listing.every_run_is_listed_by_id,
    listing.runs_are_listed_in_pages,
    listing.runs_are_listed_by_filter,
    listing.only_ended_runs_are_pruned,
    listing.pruning_stops_at_its_limit,
)

__all__ = [
    "CALL_CLAIMS",
    "CHECKPOINT_STORE",
    "RUN_LISTING",
    "Promise",
    "checkpoint",
    "record",
    "refused",
]
