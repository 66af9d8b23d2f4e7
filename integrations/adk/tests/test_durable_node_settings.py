"""`durable.node` takes the options of ADK's own node and refuses functions that it cannot take; steps belong inside."""

import asyncio

import pytest
from adk_steps import graph, outputs
from google.adk.agents.context import Context
from google.adk.workflow import FunctionNode, RetryConfig, node

from agent_adapter.errors import ConfigError, ToolUsageError


async def settle(ctx: Context) -> str:
    """Settle."""
    return "settled"


def test_it_has_the_options_of_a_node(durable):
    retry = RetryConfig(max_attempts=2)

    made = durable.node(settle, name="other", retry_config=retry, timeout=3.0)

    assert isinstance(made, FunctionNode)
    assert (made.name, made.retry_config, made.timeout) == ("other", retry, 3.0)


def test_it_is_a_decorator_with_and_without_options(durable):
    assert durable.node(settle).name == "settle"
    assert durable.node(name="other")(settle).name == "other"


async def test_arguments_come_as_in_any_node(durable, make_chat):
    async def give() -> str:
        return "a"

    @durable.node
    async def take(node_input: str, context: Context) -> str:
        """Take."""
        return f"{node_input} of {context.node_path}"

    assert outputs(await make_chat(graph(give, take)).say()) == ["a", "a of root@1/take@1"]


async def test_a_timeout_ends_it(durable, make_chat):
    @durable.node(timeout=0.05)
    async def endless(ctx: Context) -> None:
        """Wait."""
        await asyncio.Event().wait()

    with pytest.raises(Exception, match=r"0\.05"):
        await make_chat(graph(endless)).say()


def test_a_function_that_is_not_async_is_refused(durable):
    with pytest.raises(ConfigError, match="takes an async function"):
        durable.node(lambda ctx: ctx)


def test_a_function_without_a_context_is_refused(durable):
    async def alone() -> None:
        """Nothing."""

    with pytest.raises(ConfigError, match="'alone' needs a parameter `ctx: Context`"):
        durable.node(alone)


def test_a_node_that_is_not_run_again_is_refused(durable):
    with pytest.raises(ConfigError, match="leave rerun_on_resume out"):
        durable.node(settle, rerun_on_resume=False)


async def test_a_step_outside_is_refused_before_it_runs(durable, make_chat, oracle):
    charge = oracle.function("charge")

    @node
    async def plain(ctx: Context) -> str:
        """Charge outside."""
        return await durable.step(ctx, charge, "a")

    with pytest.raises(ToolUsageError, match=r"step 'charge' was not run: only a node made by"):
        await make_chat(graph(plain)).say()
    assert oracle.lines == []
