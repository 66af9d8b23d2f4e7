"""Neither error handlers nor wrappers around a tool turn its pause into an answer."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langgraph.types import Command, interrupt
from lg_scripted import GO, ScriptedChat, answers, ask, interrupts, loop, replying

TURN = ask(("confirm", "ship", "c1"))


def pass_on(request: Any, handler: Any) -> Any:
    return handler(request)


async def apass_on(request: Any, handler: Any) -> Any:
    return await handler(request)


@pytest.fixture
def tools(oracle):
    return [oracle.tool("confirm", lambda x: f"said {interrupt(x)}")]


async def test_a_tool_node_that_handles_every_error_still_pauses(driver, durable, tools):
    node = durable.tool_node(
        tools, handle_tool_errors=True, wrap_tool_call=pass_on, awrap_tool_call=apass_on
    )
    app = loop(durable.turn(replying(ScriptedChat(TURN))), node, driver.saver)

    paused = await driver.invoke(app, GO)
    done = await driver.invoke(app, Command(resume="yes"))

    assert [each.value for each in interrupts(paused)] == ["ship"]
    assert answers(paused) == {}
    assert answers(done) == {"c1": "said yes"}


@pytest.mark.parametrize("outside", [True, False])
async def test_retry_middleware_lets_the_pause_pass(outside, driver, durable, tools, oracle):
    retry = ToolRetryMiddleware(initial_delay=0, jitter=False)
    middleware = [retry, *durable.middleware()] if outside else durable.middleware(retry)
    app = create_agent(ScriptedChat(TURN), tools, middleware=middleware, checkpointer=driver.saver)

    paused = await driver.invoke(app, GO)
    done = await driver.invoke(app, Command(resume="yes"))

    assert [each.value for each in interrupts(paused)] == ["ship"]
    assert answers(done) == {"c1": "said yes"}
    assert oracle.lines == ["confirm:ship"] * 2
