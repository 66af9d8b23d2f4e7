"""What the tests of what other products get wrong share: one run on one file, its tools and its effects.

Every effect is a line in a file, on the disk before its tool goes on: what that file says is what happened, whoever died.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent_adapter import (
    ApprovalDecision,
    ApprovalRequest,
    Executor,
    Registry,
    SQLiteApprovalStore,
    StoreApprovals,
    Tool,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import LoopAgent, ToolLoopResult, agent_tool
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.models import ModelReply, Usage
from agent_adapter.testing.models import ScriptedModel

RUN = "run-1"
YES = ApprovalDecision(approved=True, decided_by="ann", reason="fine")
NO = ApprovalDecision(approved=False, decided_by="bob", reason="too dear")
CONSUMED = "consumed"

Tools = Registry | Sequence[Tool]


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

    async def run(self, model: Any, tools: Tools, **given: Any) -> ToolLoopResult:
        """The run's first life."""
        kept: dict[str, Any] = {"checkpoints": self.store, "executor": self.executor, **given}
        messages = kept.pop("messages", "go")
        return await run_tool_loop(model, tools, messages, run_id=RUN, **kept)

    async def recover(self, model: Any, tools: Tools, **given: Any) -> ToolLoopResult:
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


def say(value: object) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()
