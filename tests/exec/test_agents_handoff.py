"""Handoffs in a loop: with a HandoffModel the agent that took over has the last word, in a recovered run too."""

from typing import Any

import pytest
from tests.exec.agents_kit import NO, Bench, Killed, agent, ask, play, said

from agent_adapter import Executor, run_tool_loop
from agent_adapter.exec import HandoffModel, LoopAgent, handoff
from agent_adapter.exec.checkpoints import DurableStore
from agent_adapter.models import Usage
from agent_adapter.registry import Registry

TO_SALES = (ask("sales", task="sell"),)


@pytest.fixture
def bench(store: DurableStore) -> Bench:
    return Bench(store)


def sales(model: Any, *tools: Any, name: str = "sales", **given: Any) -> Any:
    to = LoopAgent(model=model, tools=Registry(tools))
    return handoff(to, name=name, description="sells", **given)


async def test_the_answer_of_a_handoff_is_the_last_reply():
    """Item 32: the first model is not asked again and nothing is paid for it."""
    model = play(TO_SALES)
    result = await run_tool_loop(
        HandoffModel(model), [sales(play("sold"))], "go", executor=Executor()
    )
    assert said(result)[1:] == [("assistant", ""), ("tool", "sold"), ("assistant", "sold")]
    assert (result.reply.usage, len(model.requests)) == (Usage(), 1)


async def test_it_is_streamed_as_one_piece():
    """Item 33."""
    heard: list[str] = []
    await run_tool_loop(
        HandoffModel(play(TO_SALES)),
        [sales(play("sold for ten"))],
        "go",
        executor=Executor(),
        on_text=heard.append,
    )
    assert heard == ["sold for ten"]


async def test_a_handoff_that_failed_is_left_to_the_model():
    """Item 32."""
    model = play(TO_SALES, "I do it myself")
    tools = [sales(play(RuntimeError("nobody there")))]
    result = await run_tool_loop(HandoffModel(model), tools, "go", executor=Executor())
    assert (result.reply.text, len(model.requests)) == ("I do it myself", 2)


async def test_without_the_model_a_handoff_is_an_agent_like_any_other():
    model = play(TO_SALES, "they sold")
    result = await run_tool_loop(model, [sales(play("sold"))], "go", executor=Executor())
    assert (result.reply.text, len(model.requests)) == ("they sold", 2)


async def test_an_agent_without_the_tag_ends_nothing():
    model = play([ask("helper", task="t")], "mine")
    tools = [agent(play("helped"))]
    result = await run_tool_loop(HandoffModel(model), tools, "go", executor=Executor())
    assert result.reply.text == "mine"


async def test_of_two_handoffs_the_first_in_call_order_has_the_last_word():
    """Item 32."""
    tools = [sales(play("sold")), sales(play("helped"), name="support")]
    model = play([ask("support", task="t"), ask("sales", task="t")])
    result = await run_tool_loop(HandoffModel(model), tools, "go", executor=Executor())
    assert result.reply.text == "helped"


async def test_who_was_handed_to_may_hand_on():
    """Item 31: the last answer goes all the way up."""
    last = sales(play("signed"), name="legal")
    first = sales(HandoffModel(play([ask("legal", task="sign")])), last)
    result = await run_tool_loop(HandoffModel(play(TO_SALES)), [first], "go", executor=Executor())
    assert result.reply.text == "signed"


async def test_a_run_that_dies_in_the_agent_ends_with_its_answer_when_recovered(bench: Bench):
    """Item 32: the first model planned the handoff once, and is never asked again."""
    inner = play([ask("charge", cents=5)], [ask("note", text="x")], "sold")
    model, tools = play(TO_SALES), [sales(inner, bench.charge, bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(HandoffModel(model), tools)
    bench.dies_in = set()
    result = await bench.recover(HandoffModel(model), tools)
    assert (result.status, result.reply.text) == ("done", "sold")
    assert bench.ran.count(("charge", 5)) == 1
    assert (len(model.requests), len(inner.requests)) == (1, 3)


async def test_a_run_that_dies_after_the_handoff_still_ends_with_its_answer(bench: Bench):
    """Item 32: the answer is in the record, and nothing about it is remembered elsewhere."""

    class Dying(HandoffModel):
        async def generate(self, request: Any) -> Any:
            if len(request.messages) > 1:
                bench.die()
            return await super().generate(request)

    inner, model = play("sold"), play(TO_SALES)
    with pytest.raises(Killed):
        await bench.run(Dying(model), [sales(inner)])
    result = await bench.recover(HandoffModel(model), [sales(inner)])
    assert (result.reply.text, len(model.requests), len(inner.requests)) == ("sold", 1, 1)


async def test_a_handoff_that_waits_for_a_person_ends_the_run_when_decided(bench: Bench):
    """Items 32, 113."""
    inner = play([ask("mail", to="x")], "not sent")
    model, tools = play(TO_SALES), [sales(inner, bench.mail)]
    paused = await bench.run(HandoffModel(model), tools)
    assert paused.status == "paused"
    await bench.decide(paused.pending, NO)
    result = await bench.recover(HandoffModel(model), tools)
    assert (result.reply.text, len(model.requests), bench.ran) == ("not sent", 1, [])
