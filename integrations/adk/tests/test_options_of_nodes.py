"""The options of ADK's own `@node` on a durable one: workers side by side, a question before it, and its arguments."""

from adk_steps import graph, outputs
from google.adk.agents.context import Context


async def test_parallel_workers_keep_their_own_steps(durable, make_chat, oracle):
    charge = oracle.function("charge")

    async def give() -> list[str]:
        return ["a", "b"]

    @durable.node(parallel_worker=True)
    async def settle(ctx: Context, node_input: str) -> dict[str, str]:
        """Charge one."""
        return await durable.step(ctx, charge, node_input)

    events = await make_chat(graph(give, settle)).say()

    assert [{"did": "charge a"}, {"did": "charge b"}] in outputs(events)
    assert sorted(oracle.lines) == ["charge:a", "charge:b"]


async def test_a_node_that_needs_a_person_waits_for_one(durable, make_chat, oracle):
    charge = oracle.function("charge")

    @durable.node(require_confirmation=True)
    async def settle(ctx: Context) -> dict[str, str]:
        """Charge."""
        return await durable.step(ctx, charge, "a")

    chat = make_chat(graph(settle))
    await chat.say()
    before, asked = oracle.lines, await chat.pending()
    events = await chat.answer("approve")

    assert (before, [each.cause for each in asked]) == ([], ["native"])
    assert outputs(events) == [{"did": "charge a"}]
    assert oracle.lines == ["charge:a"]


async def test_arguments_may_be_fields_of_the_input(durable, make_chat, oracle):
    charge = oracle.function("charge")

    async def give() -> dict[str, str]:
        return {"customer": "a"}

    @durable.node(parameter_binding="node_input")
    async def settle(ctx: Context, customer: str) -> dict[str, str]:
        """Charge the customer."""
        return await durable.step(ctx, charge, customer)

    assert outputs(await make_chat(graph(give, settle)).say())[-1] == {"did": "charge a"}
    assert oracle.lines == ["charge:a"]
