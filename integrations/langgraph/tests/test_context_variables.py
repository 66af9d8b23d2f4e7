"""The caller's context variables are visible in every tool, whatever thread or task it runs in."""

import contextvars
from typing import Any

import pytest
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, durable_app

from agent_adapter import ToolPolicy
from agent_adapter.exec._questions import Happened

TENANT = contextvars.ContextVar("TENANT", default="nobody")
TURN = ask(("plain", "1", "c1"), ("waiting", "2", "c2"))


def tools_of(oracle: Oracle, kind: str) -> list[Any]:
    def plain(x: str) -> str:
        return TENANT.get()

    async def waiting(x: str) -> str:
        return TENANT.get()

    return [
        oracle.tool("plain", plain),
        oracle.tool("waiting", waiting if kind == "async" else plain),
    ]


async def test_tools_see_the_callers_context(way, driver, make_durable, oracle):
    policies = {"plain": ToolPolicy(), "waiting": ToolPolicy(idempotent=True)}
    app = durable_app(
        way,
        make_durable(policies=policies),
        ScriptedChat(TURN),
        tools_of(oracle, driver.kind),
        driver.saver,
    )

    TENANT.set("acme")
    done = await driver.invoke(app, GO)

    assert answers(done) == {"c1": "acme", "c2": "acme"}


async def test_reconcile_sees_the_callers_context(way, driver, make_durable, oracle):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    async def look(_: Any, __: Any) -> Happened:
        return Happened(TENANT.get())

    durable = make_durable(policies={"plain": ToolPolicy(reconcile=look)})
    app = durable_app(
        way,
        durable,
        ScriptedChat(ask(("plain", "1", "c1"))),
        [oracle.tool("plain", fails)],
        driver.saver,
    )
    TENANT.set("acme")
    with pytest.raises(TimeoutError):
        await driver.invoke(app, GO)

    done = await driver.invoke(app, None)

    assert answers(done) == {"c1": "acme"}
