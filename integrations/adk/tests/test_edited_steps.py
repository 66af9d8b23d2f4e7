"""Edited arguments of a step reach the function as it takes them; what it does not take is asked about again."""

import pytest
from adk_steps import graph, outputs

from agent_adapter.policies import ToolPolicy

# The parameters of a function, what it is called with, what is shown, an edit, and what it gets then.
CASES = {
    "by name": (lambda x, y=1: [x, y], ("a",), {}, {"x": "a"}, {"x": "b", "y": 2}, ["b", 2]),
    "by place": (lambda x, /: [x], ("a",), {}, {"x": "a"}, {"x": "b"}, ["b"]),
    "any number": (lambda *xs: list(xs), ("a",), {}, {"xs": ["a"]}, {"xs": ["b", "c"]}, ["b", "c"]),
    "any names": (lambda **xs: xs, (), {"x": "a"}, {"xs": {"x": "a"}}, {"xs": {"y": 1}}, {"y": 1}),
}


@pytest.fixture
def settling(make_durable, make_chat):
    """A chat whose node takes one step that has to be approved."""
    durable = make_durable(policies={"charge": ToolPolicy(confirm=True)})

    def make(function, args, kwargs):
        function.__name__ = "charge"

        @durable.node
        async def settle(ctx) -> object:
            """Settle."""
            return await durable.step(ctx, function, *args, **kwargs)

        return make_chat(graph(settle), with_=durable)

    return make


@pytest.mark.parametrize("case", CASES)
async def test_an_edit_is_what_the_function_gets(settling, case):
    function, args, kwargs, shown, edited, given = CASES[case]
    chat = settling(function, args, kwargs)
    await chat.say()
    (asked,) = await chat.pending()

    events = await chat.answer({"type": "edit", "args": edited})

    assert asked.arguments == shown
    assert outputs(events) == [given]


@pytest.mark.parametrize("edited", [{}, {"z": 1}, {"x": "b", "z": 1}], ids=str)
async def test_what_does_not_fit_is_asked_about_again(settling, edited):
    chat = settling(lambda x: [x], ("a",), {})
    await chat.say()

    await chat.answer({"type": "edit", "args": edited})

    (again,) = await chat.pending()
    assert (again.arguments, again.cause) == ({"x": "a"}, "approval")
