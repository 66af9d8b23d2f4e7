"""A process that works on a shop's run: `<database> <case> <act> [<place> <signal>]`; what it says is one JSON line.

The acts: `run` and `recover`; `start` and `race` are the same for workers that wait until they are let go; `consume`
tries to use up every decision whose request is named in the file `.ids` beside the database.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.rivals.shop import Shop, ask, play, say

from agent_adapter import AgentAdapterError, ApprovalConflict, Registry, RunContext, Tool, tool
from agent_adapter.exec import HandoffModel, LoopAgent, agent_tool, handoff

Case = tuple[Any, list[Tool]]


def _pay(shop: Shop) -> Case:
    return play([ask("pay", 5)], "done"), [shop.pay]


def _charge(shop: Shop) -> Case:
    return play([ask("charge", 5)], [ask("charge", 7)], "done"), [shop.charge]


def _three(shop: Shop) -> Case:
    calls = [ask("note", 1), ask("charge", 2), ask("charge", 3)]
    return play(calls, "done"), [shop.note, shop.charge]


def _swarm(shop: Shop) -> Case:
    inner = play([ask("charge", 5)], [ask("note", 1)], "sold")
    to = LoopAgent(model=inner, tools=Registry([shop.charge, shop.note]))
    sales = handoff(to, name="sales", description="sells")
    return HandoffModel(play([ask("sales", "sell")])), [sales]


def _fan_out(shop: Shop) -> Case:
    @tool
    def deliver(n: int) -> str:
        asyncio.run(shop.effect(f"deliver {n}"))
        return f"delivered {n}"

    async def work(task: str, ctx: RunContext) -> str:
        calls = [ask("deliver", n) for n in range(4)]
        results = await shop.executor.run_many(calls, ctx, registry=Registry([deliver]))
        await shop.executor.run(shop.note, {"n": 1}, ctx)
        return ", ".join(result.value for result in results)

    helper = agent_tool(work, name="helper", description="")
    return play([ask("helper", "fan out")], "done"), [helper]


CASES: dict[str, Callable[[Shop], Case]] = {
    "pay": _pay,
    "charge": _charge,
    "three": _three,
    "swarm": _swarm,
    "fan out": _fan_out,
}


async def _work(shop: Shop, case: str, act: str) -> Any:
    if act == "consume":
        return await _consume_all(shop)
    model, tools = CASES[case](shop)
    doing = shop.run if act in ("run", "start") else shop.recover
    try:
        result = await doing(model, tools, concurrency=1)
    except AgentAdapterError as error:
        return {"status": type(error).__name__}
    except Exception as error:  # noqa: BLE001 - what must not come out is shown to the test
        return {"status": f"foreign: {error!r}"}
    return {"status": result.status}


async def _consume_all(shop: Shop) -> Any:
    """For each decided request whether this process got the decision."""
    ids = json.loads(shop.path.with_suffix(".ids").read_text())
    said = {}
    for request_id in ids:
        try:
            await shop.approvals.consume(request_id, f"process {os.getpid()}")
            said[request_id] = "won"
        except ApprovalConflict:
            said[request_id] = "lost"
        except Exception as error:  # noqa: BLE001 - as above
            said[request_id] = f"foreign: {error!r}"
    return said


def main(path: str, case: str, act: str, place: str, sent: str) -> None:
    shop = Shop(path)
    shop.place, shop.sent = place, signal.Signals(int(sent))
    if act in ("race", "start", "consume"):
        say({"status": "ready"})
        sys.stdin.readline()
    say(asyncio.run(_work(shop, case, act)))


if __name__ == "__main__":
    main(*sys.argv[1:])
