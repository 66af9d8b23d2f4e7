"""What the tests of what other products get wrong share: one run on one file, and workers that are processes.

Every effect is a line in a file, on the disk before its tool goes on: what that file says is what happened, whoever died.
Run as a script, this is one worker: `shop.py <database> <case> <act> [<place> [<signal>]]`.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent_adapter import (
    AgentAdapterError,
    ApprovalConflict,
    ApprovalDecision,
    ApprovalRequest,
    Executor,
    RecoveryNeedsDecision,
    Registry,
    RunContext,
    SQLiteApprovalStore,
    StoreApprovals,
    Tool,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import HandoffModel, LoopAgent, ToolLoopResult, agent_tool, handoff
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.models import ModelReply, Usage
from agent_adapter.testing.models import ScriptedModel

RUN = "run-1"
YES = ApprovalDecision(approved=True, decided_by="ann", reason="fine")
NO = ApprovalDecision(approved=False, decided_by="bob", reason="too dear")
CONSUMED = "consumed"

Case = tuple[Any, list[Tool]]


class Approvals(SQLiteApprovalStore):
    """Tells when a decision was used up, before anybody hears of it."""

    reach: Callable[[str], None]

    async def consume(self, request_id: str, consumer: str) -> ApprovalDecision:
        decision = await super().consume(request_id, consumer)
        self.reach(CONSUMED)
        return decision


class Shop:
    """One run on one file; another `Shop` on the same file is what a worker that comes later sees.

    Attributes:
        path: the file of runs and requests.
        store: the runs.
        approvals: the requests.
        executor: runs the calls; it asks `approvals`.
        place: the effect, or `CONSUMED`, right after which this process gets the signal `sent`.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.store = SQLiteCheckpointStore(path)
        self.approvals = Approvals(path)
        self.approvals.reach = self.reach
        self.executor = Executor(approvals=StoreApprovals(self.approvals))
        self.place = ""
        self.sent = signal.SIGKILL

    @property
    def effects(self) -> list[str]:
        """What happened, in order."""
        log = self._log
        return log.read_text().splitlines() if log.exists() else []

    async def effect(self, line: str) -> None:
        """Let it happen, for good."""
        with self._log.open("a") as log:
            log.write(f"{line}\n")
            log.flush()
            await asyncio.to_thread(os.fsync, log.fileno())
        self.reach(line)

    def reach(self, place: str) -> None:
        """Get the signal, if this is the place."""
        if place == self.place:
            say({"status": "signal"})
            os.kill(os.getpid(), self.sent)

    async def run(self, model: Any, tools: Sequence[Tool], **given: Any) -> ToolLoopResult:
        """The run's first life."""
        kept: dict[str, Any] = {"checkpoints": self.store, "executor": self.executor, **given}
        messages = kept.pop("messages", "go")
        return await run_tool_loop(model, tools, messages, run_id=RUN, **kept)

    async def recover(self, model: Any, tools: Sequence[Tool], **given: Any) -> ToolLoopResult:
        """Its next one."""
        kept: dict[str, Any] = {"checkpoints": self.store, "executor": self.executor, **given}
        return await recover_tool_loop(model, tools, RUN, **kept)

    async def decide(self, decision: ApprovalDecision, *requests: ApprovalRequest) -> None:
        """Decide these requests; all that wait when none is given."""
        for request in requests or await self.approvals.list_pending():
            await self.approvals.decide(request.id, decision)

    async def position(self) -> tuple[int, int] | None:
        """The run's step and segment."""
        return await self.store.position(RUN)

    async def status(self) -> str:
        """The run's status."""
        stored = await self.store.latest(RUN)
        assert stored is not None
        return stored.checkpoint.status

    def tool(self, name: str, **policy: Any) -> Tool:
        """A tool of one number, whose effect is `<name> <number>`."""

        async def body(n: int) -> str:
            await self.effect(f"{name} {n}")
            return f"{name} {n} ok"

        return tool(name=name, **policy)(body)

    @property
    def charge(self) -> Tool:
        """Takes money."""
        return self.tool("charge")

    @property
    def pay(self) -> Tool:
        """Takes money, and a person looks first."""
        return self.tool("pay", confirm=True)

    @property
    def note(self) -> Tool:
        """May be done again."""
        return self.tool("note", idempotent=True)

    @property
    def _log(self) -> Path:
        return self.path.with_suffix(".effects")


def ask(name: str, n: int | str, call_id: str | None = None) -> ToolCall:
    """A call of a tool of one number, or of an agent with a task."""
    arguments = {"task" if isinstance(n, str) else "n": n}
    return ToolCall(f"{name}-{n}" if call_id is None else call_id, name, arguments)


def play(*replies: Any) -> ScriptedModel:
    """A model that says these replies, each when the conversation has come so far; each uses ten tokens."""

    def priced(reply: Any) -> Any:
        if callable(reply) or isinstance(reply, BaseException):
            return reply
        text, calls = (reply, ()) if isinstance(reply, str) else ("", tuple(reply))
        return ModelReply(text, calls, Usage(6, 4))

    return ScriptedModel([priced(reply) for reply in replies], by_history=True)


def agent(model: Any, *tools: Tool, name: str = "helper", **given: Any) -> Tool:
    """An agent as a tool."""
    to = LoopAgent(model=model, tools=Registry(tools))
    return agent_tool(to, name=name, description="helps", **given)


def _pay(shop: Shop) -> Case:
    return play([ask("pay", 5)], "done"), [shop.pay]


def _charge(shop: Shop) -> Case:
    return play([ask("charge", 5)], [ask("charge", 7)], "done"), [shop.charge]


def _charge_known(shop: Shop) -> Case:
    return play([ask("charge", 5)], "done"), [shop.tool("charge", idempotent=True)]


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
    "charge known": _charge_known,
    "three": _three,
    "swarm": _swarm,
    "fan out": _fan_out,
}


def begin(
    path: Path, case: str, act: str, place: str = "", sent: signal.Signals = signal.SIGKILL
) -> "subprocess.Popen[str]":
    """A worker that is at it."""
    pipe = subprocess.PIPE
    command = [sys.executable, __file__, str(path), case, act, place, str(int(sent))]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def heard(worker: "subprocess.Popen[str]") -> Any:
    """What the worker says next."""
    assert worker.stdout is not None
    return json.loads(worker.stdout.readline())


def go(workers: Sequence["subprocess.Popen[str]"]) -> list[Any]:
    """What each of these says, once all were ready and were let go at once."""
    assert [heard(worker) for worker in workers] == [{"status": "ready"}] * len(workers)
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [heard(worker) for worker in workers]
    assert [worker.wait(20) for worker in workers] == [0] * len(workers)
    close(*workers)
    return said


def killed(path: Path, case: str, act: str, place: str) -> None:
    """Let a worker do this until SIGKILL meets it at the place."""
    worker = begin(path, case, act, place)
    assert heard(worker) == {"status": "signal"}
    assert worker.wait(20) == -signal.SIGKILL
    close(worker)


def close(*workers: "subprocess.Popen[str]") -> None:
    """Close the pipes of these."""
    for worker in workers:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.close()
        worker.stdout.close()


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


async def _work(shop: Shop, case: str, act: str) -> Any:
    if act == "consume":
        return await _consume_all(shop)
    model, tools = CASES[case](shop)
    doing = shop.run if act in ("run", "start") else shop.recover
    try:
        result = await doing(model, tools, concurrency=1)
    except RecoveryNeedsDecision as error:
        dead = [call.owner_known_dead for call in error.calls]
        return {"status": "RecoveryNeedsDecision", "dead": dead}
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
