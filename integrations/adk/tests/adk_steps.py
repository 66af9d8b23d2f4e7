"""Graphs of one durable node, whose steps leave lines: for tests and for their child processes."""

from typing import Any

from google.adk.agents.context import Context
from google.adk.workflow import START, Workflow

from agent_adapter_adk import DurableTools


def graph(*nodes: Any) -> Workflow:
    """A graph of these nodes in a row."""
    return Workflow(name="root", edges=[(START, *nodes)])


def two_steps(durable: DurableTools, stage: Any) -> Workflow:
    """A node that charges "a" and then pays "b", and gives what both gave."""
    charge, pay = stage.function("charge"), stage.function("pay")

    @durable.node
    async def settle(ctx: Context) -> list[Any]:
        """Settle."""
        return [await durable.step(ctx, charge, "a"), await durable.step(ctx, pay, x="b")]

    return graph(settle)


def outputs(events: Any) -> list[Any]:
    """What the nodes of these events gave, in order."""
    return [event.output for event in events if event.output is not None]
