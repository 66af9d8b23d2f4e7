"""One failing call does not take its neighbours' results with it: a retry of the turn touches the failed call only."""

import asyncio
import threading
from typing import Any

import pytest
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, bare_app, causes, durable_app

from agent_adapter import ToolPolicy

TURN = ask(("charge", "5", "c1"), ("lookup", "x", "c2"))


class Backend:
    """`lookup` fails until the backend is up; `charge` ends only after `lookup` has failed once."""

    def __init__(self, oracle: Oracle, kind: str) -> None:
        self.up = False
        self._oracle = oracle
        self._failed: Any = asyncio.Event() if kind == "async" else threading.Event()
        self.ended = asyncio.Event()
        self._bodies = (
            (self._acharge, self._alookup) if kind == "async" else (self._charge, self._lookup)
        )

    def tools(self) -> list[Any]:
        return [
            self._oracle.tool("charge", self._bodies[0]),
            self._oracle.tool("lookup", self._bodies[1]),
        ]

    def _lookup(self, x: str) -> str:
        self._failed.set()
        if not self.up:
            raise ConnectionError("backend down")
        return "found"

    def _charge(self, x: str) -> str:
        assert self._failed.wait(10)
        return "charged"

    async def _alookup(self, x: str) -> str:
        return self._lookup(x)

    async def _acharge(self, x: str) -> str:
        await self._failed.wait()
        await asyncio.sleep(0)
        self.ended.set()
        return "charged"


@pytest.mark.parametrize(
    "policy", [ToolPolicy(idempotent=True), ToolPolicy(did_not_happen=(ConnectionError,))]
)
async def test_only_the_failed_call_runs_again(way, policy, driver, make_durable, oracle):
    backend = Backend(oracle, driver.kind)
    durable = make_durable(policies={"lookup": policy})
    app = durable_app(way, durable, ScriptedChat(TURN), backend.tools(), driver.saver)

    with pytest.raises(ConnectionError):
        await driver.invoke(app, GO)
    backend.up = True
    done = await driver.invoke(app, None)

    assert answers(done) == {"c1": "charged", "c2": "found"}
    assert sorted(oracle.lines) == ["charge:5", "lookup:x", "lookup:x"]


async def test_a_failed_call_that_may_have_taken_effect_is_asked_about(
    way, driver, durable, oracle
):
    backend = Backend(oracle, driver.kind)
    app = durable_app(way, durable, ScriptedChat(TURN), backend.tools(), driver.saver)

    with pytest.raises(ConnectionError):
        await driver.invoke(app, GO)
    asked = await driver.invoke(app, None)

    assert causes(asked) == ["raised"]
    assert sorted(oracle.lines) == ["charge:5", "lookup:x"]


async def test_control_the_bare_tool_node_repeats_the_finished_call(driver, oracle):
    backend = Backend(oracle, driver.kind)
    app = bare_app("node", ScriptedChat(TURN), backend.tools(), driver.saver)

    with pytest.raises(ConnectionError):
        await driver.invoke(app, GO)
    backend.up = True
    if driver.kind == "async":
        await backend.ended.wait()
    await driver.invoke(app, None)

    assert oracle.lines.count("charge:5") == 2
