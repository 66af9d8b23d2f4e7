"""A tool's `reconcile` is asked before a person is: what it says of a call in doubt counts."""

import importlib
from typing import Any

import pytest
from lg_scripted import GO, ScriptedChat, answers, ask, causes, durable_app

from agent_adapter import ToolPolicy

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
# What the probe returns, and then: the answers, why a person is asked, and how many effects there are.
CASES: dict[str, Any] = {
    "Happened": (["receipt 7"], ({"c1": "receipt 7"}, [], 1)),
    "DidNotHappen": ([], ({"c1": "paid"}, [], 2)),
    "Unknown": ([], ({}, ["raised"], 1)),
}


@pytest.mark.parametrize("said", CASES)
async def test_what_the_probe_says_counts(said, make_durable, driver, oracle):
    parts, expected = CASES[said]
    answer = getattr(importlib.import_module("agent_adapter.exec"), said)(*parts)
    looked_up: list[Any] = []

    def reconcile(arguments: Any, key: str | None) -> Any:
        looked_up.append((arguments, key))
        return answer

    def fail_at_first(_: str) -> str:
        if len(oracle.lines) == 1:
            raise OSError("the line is dead")
        return "paid"

    durable = make_durable(policies={"charge": ToolPolicy(reconcile=reconcile)})
    tools = [oracle.tool("charge", fail_at_first)]
    app = durable_app("agent", durable, CHAT, tools, driver.saver)
    with pytest.raises(OSError, match="the line is dead"):
        await driver.invoke(app, GO)
    state = await driver.invoke(app, None)

    assert (answers(state), causes(state), len(oracle.lines)) == expected
    assert [(arguments, len(key)) for arguments, key in looked_up] == [({"x": "5"}, 64)]
