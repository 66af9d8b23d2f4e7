"""The effect may have happened and the answer was lost: a retry around the tool asks a person instead of repeating it."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from lg_scripted import GO, ScriptedChat, answers, ask, causes

from agent_adapter import ToolPolicy

CHAT = ScriptedChat(ask(("charge", "5", "c1")))


def retry() -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)


def fails(_: str) -> str:
    raise TimeoutError("no answer")


@pytest.mark.parametrize("outside", [True, False], ids=["retry outside", "retry inside"])
async def test_it_becomes_a_question(outside, driver, durable, oracle):
    middleware = [retry(), *durable.middleware()] if outside else durable.middleware(retry())
    app = create_agent(
        CHAT, [oracle.tool("charge", fails)], middleware=middleware, checkpointer=driver.saver
    )

    asked = await driver.invoke(app, GO)

    assert causes(asked) == ["raised"]
    assert answers(asked) == {}
    assert oracle.lines == ["charge:5"]


@pytest.mark.parametrize(
    "policy",
    [ToolPolicy(idempotent=True), ToolPolicy(did_not_happen=(TimeoutError,))],
    ids=["idempotent", "undone"],
)
async def test_a_harmless_repeat_is_left_to_the_retry(policy, driver, make_durable, oracle):
    durable = make_durable(policies={"charge": policy})
    app = create_agent(
        CHAT,
        [oracle.tool("charge", fails)],
        middleware=durable.middleware(retry()),
        checkpointer=driver.saver,
    )

    done = await driver.invoke(app, GO)

    assert "no answer" in answers(done)["c1"]
    assert oracle.lines == ["charge:5"] * 3


async def test_control_bare_langchain_repeats_it(driver, oracle):
    app = create_agent(
        CHAT, [oracle.tool("charge", fails)], middleware=[retry()], checkpointer=driver.saver
    )

    await driver.invoke(app, GO)

    assert oracle.lines == ["charge:5"] * 3
