"""Inside a protected tool `idempotency_key()` is the call's own: the same in every attempt, another for every other call.

Items 109, 110 and 112.
"""

from typing import Any

import pytest
from langgraph.types import Command
from lg_scripted import GO, ScriptedChat, ask, durable_app, interrupts

from agent_adapter.exec.checkpoints import idempotency_key

CHAT = ScriptedChat(ask(("charge", "5", "c1"), ("charge", "5", "c2")))


async def test_every_attempt_of_a_call_has_its_key_and_no_other_call_has_it(
    way, durable, driver, oracle
):
    keys: list[Any] = []

    def fail_at_first(_: str) -> str:
        keys.append(idempotency_key())
        if len(keys) <= 2:
            raise OSError("the line is dead")
        return "paid"

    app = durable_app(way, durable, CHAT, [oracle.tool("charge", fail_at_first)], driver.saver)
    with pytest.raises(OSError, match="the line is dead"):
        await driver.invoke(app, GO)
    shown: list[str] = []
    state = await driver.invoke(app, None)
    while asked := interrupts(state):
        shown += [r["description"] for i in asked for r in i.value["action_requests"]]
        run_again = {
            i.id: {"decisions": [{"type": "approve"}] * len(i.value["action_requests"])}
            for i in asked
        }
        state = await driver.invoke(app, Command(resume=run_again))

    assert (len(keys), len(set(keys[:2])), set(keys[2:])) == (4, 2, set(keys[:2]))
    assert [key for key in keys if not any(f"Idempotency key: {key}." in s for s in shown)] == []
    assert idempotency_key() is None
