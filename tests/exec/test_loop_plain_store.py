"""A store with no more than the two protocols: no key, no liveness and no lookup of its own."""

import pytest
from tests.exec.loop_kit import Lab, Outage, Tape, ask, said

from agent_adapter import RecoveryNeedsDecision
from agent_adapter.exec import Happened, Rerun

KEY = "sixteen bytes or more"


class Plain(Tape):
    find_call = embedded_key = owner = liveness = None


@pytest.mark.parametrize("write", range(2, 10))
async def test_a_run_on_a_plain_store_that_broke_anywhere_ends_as_if_it_had_not(
    store, write, monkeypatch
):
    """Item 59: whose worker may live is waited for, then asked about."""
    for module in ("_recover", "_loop_durable"):
        monkeypatch.setattr(f"agent_adapter.exec.{module}.CLAIM_WAIT_S", 0.0)
    lab, known_dead = Lab(store), []
    lab.tape = Plain(store)
    lab.play(
        [ask("charge", "a", cents=1), ask("charge", "b", cents=1)], [ask("note", text="x")], "done"
    )
    lab.break_at(write)
    with pytest.raises(Outage):
        await lab.run(concurrency=1, checkpoint_key=KEY)
    try:
        result = await lab.recover(checkpoint_key=KEY)
    except RecoveryNeedsDecision as needed:
        known_dead += [call for call in needed.calls if call.owner_known_dead]
        decisions = {
            call.question_id: Happened("charged 1") if call.idempotency_key in lab.keys else Rerun()
            for call in needed.calls
        }
        result = await lab.recover(decisions=decisions, checkpoint_key=KEY)
    assert [text for _, text in said(result)] == [
        *("go", "", "charged 1", "charged 1", "", "noted x", "done")
    ]
    assert lab.ran.count(("charge", 1)) == 2
    assert known_dead == []


async def test_a_paused_run_on_a_plain_store_goes_on(store):
    """Items 59 and 113"""
    lab = Lab(store)
    lab.tape = Plain(store)
    lab.play([ask("mail", to="ann"), ask("charge", cents=1)], "done")
    assert (await lab.run(checkpoint_key=KEY)).status == "paused"
    await lab.decide()
    assert (await lab.recover(checkpoint_key=KEY)).status == "done"
    assert sorted(lab.ran) == [("charge", 1), ("mail", "ann")]
