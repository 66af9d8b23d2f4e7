"""Ledger, a store that fails: no body without its start, no outcome that is only believed to be stored."""

import pytest

from agent_adapter import ToolPolicy

IDEMPOTENT = ToolPolicy(idempotent=True)


class Failing(Exception):
    """A backend's own error."""


def broken(fleet, *, at: int, stored: bool):
    """A seat whose write number `at` fails; `stored` says whether only the answer was lost."""

    class Broken(fleet.seat):
        writes = 0

        async def claim_call(self, *arguments, **named):
            type(self).writes += 1
            if self.writes != at:
                return await super().claim_call(*arguments, **named)
            if stored:
                await super().claim_call(*arguments, **named)
            raise Failing

    return Broken


async def test_a_start_that_was_not_stored_runs_no_body(fleet, call):
    """item 106"""
    fleet.ledger("a", broken(fleet, at=1, stored=False))
    with pytest.raises(Failing):
        await fleet.run("a", call)
    assert fleet.ran == []
    assert await fleet.run("a", call) == {"receipt": 1}


async def test_a_start_whose_answer_was_lost_runs_no_body(fleet, call):
    """item 106"""
    fleet.ledger("a", broken(fleet, at=1, stored=True))
    with pytest.raises(Failing):
        await fleet.run("a", call)
    assert fleet.ran == []
    assert (await fleet.ask("a", call)).cause == "died"


async def test_an_outcome_that_was_not_stored_is_in_doubt(fleet, call):
    """item 106"""
    fleet.ledger("a", broken(fleet, at=2, stored=False))
    with pytest.raises(Failing):
        await fleet.run("a", call)
    assert (await fleet.ask("a", call)).cause == "died"
    assert len(fleet.ran) == 1


async def test_an_outcome_whose_answer_was_lost_is_the_outcome(fleet, call):
    """item 106"""
    fleet.ledger("a", broken(fleet, at=2, stored=True))
    with pytest.raises(Failing):
        await fleet.run("a", call)
    assert await fleet.run("a", call) == {"receipt": 1}
    assert len(fleet.ran) == 1


async def test_an_outcome_may_be_stored_again_when_the_answer_was_lost(fleet, call):
    fleet.ledger("a", broken(fleet, at=2, stored=True))
    attempt = await fleet.begin("a", call)
    with pytest.raises(Failing):
        await attempt.finish("first")
    await attempt.finish("first")
    attempt.land()
    assert await fleet.run("b", call) == "first"
    assert list(await fleet.records(call)) == ["k1"]


@pytest.mark.parametrize("stored", [False, True])
async def test_a_repeatable_call_runs_again_when_its_outcome_was_not_stored(fleet, call, stored):
    fleet.ledger("a", broken(fleet, at=1, stored=stored))
    with pytest.raises(Failing):
        await fleet.run("a", call, policy=IDEMPOTENT)
    assert await fleet.run("a", call, policy=IDEMPOTENT) == {"receipt": 1 if stored else 2}


async def test_a_read_that_fails_starts_nothing(fleet, call):
    class Unreadable(fleet.seat):
        async def calls(self, run_id, segment):
            raise Failing

        async def find_call(self, run_id, key):
            raise Failing

    await fleet.run("a", call)
    fleet.ledger("b", Unreadable)
    with pytest.raises(Failing):
        await fleet.run("b", call)
    fleet.ledger("b")
    assert await fleet.run("b", call) == {"receipt": 1}
