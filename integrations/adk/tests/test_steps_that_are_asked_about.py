"""Steps of a node whose policy says `confirm`: the node asks, and each answer decides its own call, also in a new process."""

import pytest
from adk_stage import Stage
from adk_steps import outputs, two_steps

from agent_adapter.policies import ToolPolicy

CONFIRM = {"charge": ToolPolicy(confirm=True)}
PAID = {"did": "pay b"}
ANSWERS = [
    ("approve", ["charge:a", "pay:b"], {"did": "charge a"}),
    ({"type": "edit", "args": {"x": "c"}}, ["charge:c", "pay:b"], {"did": "charge c"}),
    ({"type": "respond", "message": "paid"}, ["pay:b"], "paid"),
    ({"type": "reject", "message": "too much"}, ["pay:b"], {"error": "too much"}),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: str(each[0]))
async def test_a_step_waits_and_is_answered(*, answer, make_durable, make_chat, tmp_path, oracle):
    said, effects, given = answer

    def worker():
        durable = make_durable(policies=CONFIRM)
        return make_chat(two_steps(durable, Stage(tmp_path)), with_=durable)

    await worker().say()
    before = oracle.lines
    later = worker()
    (asked,) = await later.pending()
    events = await later.answer(said)

    assert (asked.tool, asked.arguments, asked.cause, before) == (
        "charge",
        {"x": "a"},
        "approval",
        [],
    )
    assert outputs(events) == [[given, PAID]]
    assert oracle.lines == effects
    assert await later.pending() == []
