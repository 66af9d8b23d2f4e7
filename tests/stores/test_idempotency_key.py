"""`idempotency_key()`: None outside a durable call, the call's own inside; item 112."""

import asyncio

from agent_adapter.exec._call_key import _call_key_scope
from agent_adapter.exec.checkpoints import idempotency_key


def test_there_is_none_outside_a_durable_call() -> None:
    assert idempotency_key() is None


async def test_it_is_the_calls_own_in_tasks_and_threads() -> None:
    async def call(key: str) -> list[str | None]:
        with _call_key_scope(key):
            await asyncio.sleep(0)
            seen = [idempotency_key(), await asyncio.to_thread(idempotency_key)]
            with _call_key_scope(f"{key}/inner"):
                seen.append(idempotency_key())
            return [*seen, idempotency_key()]

    assert await asyncio.gather(call("a"), call("b")) == [
        ["a", "a", "a/inner", "a"],
        ["b", "b", "b/inner", "b"],
    ]
    assert idempotency_key() is None
