"""Loops inside a visit: replies and calls are journaled there, so that an entered-again visit pays and does nothing twice."""

import asyncio
from decimal import Decimal

import pytest
from pydantic import BaseModel
from tests.exec.loop_kit import NO, RUN, YES, Lab, ask, said

from agent_adapter import (
    ApprovalDecision,
    Executor,
    ModelError,
    RunContext,
    RunLimitExceeded,
    RunLimits,
    ToolUsageError,
    run_tool_loop,
    tool,
)
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter.exec.integration import check_plain, make_answer, make_journal, visit_scope
from agent_adapter.models import ModelReply, Usage
from agent_adapter.testing.models import ScriptedModel


class Money(BaseModel):
    cents: int


class Visit:
    """A node that runs loops, entered as often as a test wants; what the journal kept is all that is left of it."""

    def __init__(self):
        self.lab = Lab(MemoryCheckpointStore())
        self.data = {}
        self.models = []

    async def enter(self, *script, answer=None, ctx=None, times=1, **given):
        """The result of the last loop of the node; each one has this script."""
        journal = make_journal(self.data)
        given = {"executor": self.lab.executor, **given}
        try:
            with visit_scope(answer, journal):
                for _ in range(times):
                    self.models.append(ScriptedModel(script, by_history=True))
                    result = await run_tool_loop(
                        self.models[-1], self.lab.tools, "go", ctx=ctx, **given
                    )
                return result
        finally:
            self.data = journal.data()
            check_plain(self.data)

    @property
    def asked(self):
        return [len(model.requests) for model in self.models]


@pytest.fixture
def visit() -> Visit:
    return Visit()


async def test_what_is_finished_replays_when_the_visit_is_entered_again(visit):
    """Item 124: no model call and no body twice, after a failure of the model."""
    turns = [ask("charge", cents=1)], [ask("note", text="a")]
    with pytest.raises(ModelError):
        await visit.enter(*turns, OSError("away"))
    result = await visit.enter(*turns, "done")
    assert visit.asked == [3, 1]
    assert visit.lab.ran == [("charge", 1), ("note", "a")]
    assert [text for _, text in said(result)] == ["go", "", "charged 1", "", "noted a", "done"]
    assert (result.tool_results, result.steps, result.run_id) == ((), 3, None)


async def test_a_finished_loop_asks_nobody_when_it_is_entered_again(visit):
    script = ModelReply(calls=(ask("charge", cents=1),), usage=Usage(3, 1)), "done"
    first = await visit.enter(*script)
    again = await visit.enter(*script)
    assert (again.messages, again.reply.text) == (first.messages, "done")
    assert (first.usage, again.usage, visit.asked) == (Usage(3, 1), Usage(), [2, 0])
    assert visit.lab.ran == [("charge", 1)]


async def test_values_come_back_with_their_types(visit):
    """Item 124: the parsed reply and what the tool gave."""

    @tool
    def price() -> Decimal:
        return Decimal("2.50")

    visit.lab.tools.add(price)
    script = [ask("price")], '{"cents": 5}'
    first = await visit.enter(*script, output_schema=Money)
    again = await visit.enter(*script, output_schema=Money)
    assert first.parsed == again.parsed == Money(cents=5)
    assert first.tool_results[0].value == Decimal("2.50")
    assert said(first) == said(again)


async def test_two_loops_of_a_visit_do_not_see_each_other(visit):
    """Item 130: equal loops are two loops."""
    script = [ask("charge", cents=1)], "done"
    await visit.enter(*script, times=2)
    assert visit.lab.ran == [("charge", 1)] * 2
    await visit.enter(*script, times=3)
    assert (visit.asked, visit.lab.ran) == ([2, 2, 0, 0, 2], [("charge", 1)] * 3)


async def test_loops_that_run_side_by_side_are_told_apart_by_their_order(visit):
    """Item 128"""
    data, ran = {}, []
    for _ in range(2):
        lab, journal = Lab(MemoryCheckpointStore()), make_journal(data)
        models = [ScriptedModel([[ask("charge", cents=n)], f"done {n}"]) for n in range(4)]

        async def later(cents):
            await asyncio.sleep(0.002 * (4 - cents))

        lab.inside["charge"] = later
        with visit_scope(None, journal):
            loops = [run_tool_loop(m, lab.tools, "go", executor=lab.executor) for m in models]
            results = await asyncio.gather(*loops)
        assert [result.reply.text for result in results] == [f"done {n}" for n in range(4)]
        data, ran = journal.data(), [*ran, len(lab.ran)]
    assert ran == [4, 0]
    assert [len(model.requests) for model in models] == [0] * 4


async def test_a_reply_that_does_not_fit_is_asked_for_again(visit):
    """Item 40"""
    with pytest.raises(ModelError):
        await visit.enter("not json", output_schema=Money)
    result = await visit.enter('{"cents": 5}', output_schema=Money)
    assert result.parsed == Money(cents=5)


@pytest.mark.parametrize("decision", [YES, NO], ids=["approved", "denied"])
async def test_a_call_that_waits_goes_on_with_the_visits_answer(visit, decision):
    """Items 121 and 124: the executor has nobody to ask, the framework around the visit has."""
    script = [ask("charge", cents=1), ask("mail", to="ann")], "done"
    paused = await visit.enter(*script, executor=Executor())
    [request] = paused.pending
    assert (paused.status, request.tool) == ("paused", "mail")
    answer = make_answer([(request, decision, False)])
    result = await visit.enter(*script, executor=Executor(), answer=answer)
    assert result.status == "done"
    assert visit.lab.ran == [("charge", 1), *([("mail", "ann")] if decision.approved else [])]
    assert visit.asked == [1, 1]


async def test_an_answer_counts_for_the_loop_that_asked(visit):
    """Item 116: the equal call of another loop asks for itself."""
    script = [ask("mail", to="ann")], "done"
    [request] = (await visit.enter(*script, executor=Executor())).pending
    answer = make_answer([(request, YES, False)])
    again = await visit.enter(*script, executor=Executor(), answer=answer, times=2)
    assert (again.status, visit.lab.ran) == ("paused", [("mail", "ann")])
    assert again.pending[0].id != request.id


async def test_a_bare_decision_approves_nothing(visit):
    """Item 120"""
    script = [ask("mail", to="ann")], "done"
    await visit.enter(*script, executor=Executor())
    unknown = make_answer([])
    again = await visit.enter(*script, executor=Executor(), answer=unknown)
    assert (again.status, visit.lab.ran) == ("paused", [])


async def test_replayed_turns_count_for_the_limits(visit):
    """Item 155"""
    reply = ModelReply(calls=(ask("charge", cents=1),), usage=Usage(10, 5))
    with pytest.raises(ModelError):
        await visit.enter(reply, OSError("away"))
    with pytest.raises(RunLimitExceeded, match="max_tokens"):
        await visit.enter(reply, "done", ctx=RunContext(limits=RunLimits(max_tokens=15)))
    assert visit.asked == [2, 0]
    await visit.enter(reply, "done", ctx=RunContext(limits=RunLimits(max_tokens=16)))


async def test_max_steps_counts_replayed_turns(visit):
    """Item 92"""
    turns = [ask("charge", cents=1)], [ask("charge", cents=2)]
    with pytest.raises(RunLimitExceeded):
        await visit.enter(*turns, "done", max_steps=2)
    with pytest.raises(RunLimitExceeded):
        await visit.enter(*turns, "done", max_steps=2)
    assert (visit.asked, len(visit.lab.ran)) == ([2, 0], 2)


async def test_a_durable_loop_in_a_visit_keeps_to_its_own_store(visit):
    script = [ask("charge", cents=1)], "done"
    kept = MemoryCheckpointStore()
    result = await visit.enter(*script, checkpoints=kept, run_id=RUN)
    assert (result.run_id, visit.data) == (RUN, {})
    assert (await kept.latest(RUN)).checkpoint.status == "done"


async def test_without_a_visit_nothing_is_kept():
    lab = Lab(MemoryCheckpointStore())
    lab.play([ask("charge", cents=1)], "done")
    for _ in range(2):
        await lab.run(checkpoints=None, run_id=None)
    assert lab.ran == [("charge", 1)] * 2


async def test_a_result_that_cannot_be_stored_is_told_to_the_model_and_never_runs_again(visit):
    """Item 134"""
    visit.lab.inside["charge"] = lambda cents: object()
    with pytest.raises(ModelError):
        await visit.enter([ask("charge", cents=1)], OSError("away"))
    with pytest.raises(ToolUsageError, match="already ran"):
        await visit.enter([ask("charge", cents=1)], "done")
    assert visit.lab.ran == [("charge", 1)]


async def test_edits_of_the_answer_are_what_runs(visit):
    script = [ask("mail", to="ann")], "done"
    [request] = (await visit.enter(*script, executor=Executor())).pending
    edited = ApprovalDecision(approved=True, edits={"to": "bob"}, decided_by="ann")
    answer = make_answer([(request, edited, False)])
    await visit.enter(*script, executor=Executor(), answer=answer)
    again = await visit.enter(*script, executor=Executor())
    assert (visit.lab.ran, said(again)[2]) == ([("mail", "bob")], ("tool", "mailed bob"))


@pytest.mark.parametrize("now", ["gone", "takes more"])
async def test_a_finished_call_that_cannot_be_made_again_as_it_was_is_refused_by_name(visit, now):
    """Items 124 and 127: its record answers no call any more, and nothing may run in its place."""
    with pytest.raises(ModelError):
        await visit.enter([ask("charge", cents=1)], OSError("away"))

    @tool
    async def charge(cents: int, currency: str = "EUR") -> str:
        visit.lab.ran.append((currency, cents))
        return "charged"

    visit.lab.without("charge")
    if now == "takes more":
        visit.lab.tools.add(charge)
    with pytest.raises(ToolUsageError, match="charge"):
        await visit.enter([ask("charge", cents=1)], "done")
    assert visit.lab.ran == [("charge", 1)]
