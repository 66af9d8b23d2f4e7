"""Equal steps of one node are two wishes, told apart by their order, also when the node is run again."""

from adk_stage import Stop, stop
from adk_steps import graph, outputs


def twice(durable, charge, *, stops):
    @durable.node
    async def settle(ctx) -> list[str]:
        """Settle."""
        given = [await durable.step(ctx, charge, "a"), await durable.step(ctx, charge, "a")]
        if stops:
            raise Stop
        return given

    return graph(settle)


def counting(oracle):
    async def then(_):
        return len(oracle.lines)

    return oracle.function("charge", then)


async def test_both_run_once_and_keep_their_own_results(durable, make_chat, oracle):
    charge = counting(oracle)
    await stop(make_chat(twice(durable, charge, stops=True)))
    before = oracle.lines

    events = await make_chat(twice(durable, charge, stops=False)).resume()

    assert before == oracle.lines == ["charge:a", "charge:a"]
    assert outputs(events) == [[1, 2]]
