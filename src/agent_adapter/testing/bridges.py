"""The contract of a bridge: one coroutine per promise, gathered in a tuple.

A bridge is shown by a worker: a class that builds the framework's own agent or graph from the tools and the plan of a
`Scene`, protects it, and starts it, goes on with it and answers its questions (`BridgeWorker`). The bridge keeps the contract
if every promise returns:

    for promise in BRIDGE:
        await promise(Stage(MyWorker, fresh_folder()))

Workers are killed (SIGKILL) in processes of their own, which import the worker by its name: `MyWorker` has to be in a module,
and a script that runs the loop needs its `if __name__ == "__main__":`. Effects are counted by the tools themselves, in a file.

The promises are plain asserts: `pytest.register_assert_rewrite("agent_adapter.testing")` in a `conftest.py`, before the
import, makes a failure show both sides. docs/bridges.md has a whole worker.
"""

from collections.abc import Awaitable, Callable

from agent_adapter.testing import _bridge_approving as approving
from agent_adapter.testing import _bridge_deaths as deaths
from agent_adapter.testing import _bridge_racing as racing
from agent_adapter.testing import _bridge_siblings as siblings
from agent_adapter.testing import _bridge_values as values
from agent_adapter.testing._bridge_scene import Part, Scene
from agent_adapter.testing._bridge_stage import Stage
from agent_adapter.testing._bridge_worker import AskedCall, BridgeWorker, Outcome

BRIDGE: tuple[Callable[[Stage], Awaitable[None]], ...] = (
    deaths.a_call_that_never_began_runs,
    deaths.a_finished_call_is_answered_from_the_record,
    deaths.a_turn_that_is_over_stays_over,
    deaths.a_call_in_doubt_is_asked_about,
    deaths.a_call_that_was_claimed_is_in_doubt,
    deaths.run_it_again_is_one_more_effect,
    deaths.it_happened_is_its_result,
    deaths.do_not_run_it_tells_the_model_why,
    deaths.a_call_in_doubt_cannot_be_edited,
    deaths.a_second_death_is_a_second_question,
    deaths.a_tool_that_may_run_twice_is_never_asked_about,
    deaths.a_probe_answers_before_a_person,
    approving.a_call_that_needs_approval_waits,
    approving.an_approval_lets_it_run_once,
    approving.a_refusal_never_lets_it_run,
    approving.an_answer_in_its_place_is_its_result,
    approving.an_edit_runs_with_the_edited_arguments,
    approving.an_edit_that_does_not_fit_leaves_it_waiting,
    approving.an_answer_that_says_nothing_plainly_leaves_it_waiting,
    approving.an_answer_to_another_question_leaves_it_waiting,
    approving.the_same_approval_twice_runs_it_once,
    approving.a_decision_cannot_be_taken_back,
    approving.an_approval_counts_for_one_attempt,
    approving.a_worker_that_dies_after_the_decision_repeats_nothing,
    siblings.equal_calls_both_run,
    siblings.equal_calls_are_approved_one_by_one,
    siblings.a_sibling_of_a_call_that_waits_runs_once,
    siblings.a_sibling_of_a_call_that_died_runs_once,
    siblings.siblings_that_died_are_asked_about_each,
    siblings.each_decision_of_a_turn_counts_for_its_own_call,
    siblings.an_answer_to_one_call_decides_nothing_about_another,
    racing.two_workers_that_go_on_at_once_run_each_call_once,
    racing.two_workers_with_the_same_approval_run_it_once,
    racing.of_two_different_decisions_one_stands,
    racing.a_call_that_another_worker_is_at_is_not_run,
    values.a_value_comes_back_with_the_same_content,
    values.an_exception_is_an_answer_for_the_model,
    values.an_exception_comes_back_as_the_same_answer,
)

__all__ = ["BRIDGE", "AskedCall", "BridgeWorker", "Outcome", "Part", "Scene", "Stage"]
