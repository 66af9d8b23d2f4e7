"""A process of its own that begins, decides or recovers one run on one file; the tests start it with a task's name."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from agent_adapter import (
    ApprovalDecision,
    CheckpointConflict,
    Executor,
    RecoveryNeedsDecision,
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
from agent_adapter.testing.models import ScriptedModel

RUN = "run-1"


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


class Lab:
    """The run's tools and models, made anew in each process; effects and model calls are lines in files beside it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.approvals = SQLiteApprovalStore(path)
        self.given: dict[str, Any] = {
            "checkpoints": SQLiteCheckpointStore(path),
            "executor": Executor(approvals=StoreApprovals(self.approvals)),
        }

    def note(self, kind: str, line: str) -> None:
        with self.path.with_suffix(f".{kind}").open("a") as file:
            file.write(f"{line} {os.getpid()}\n")

    def tools(self) -> list[Tool]:
        @tool
        async def charge(cents: int) -> str:
            self.note("effects", f"charge {cents}")
            return f"charged {cents}"

        @tool(confirm=True)
        async def mail(to: str) -> str:
            self.note("effects", f"mail {to}")
            return f"mailed {to}"

        model = self.model(
            "inner",
            [ToolCall("i1", "charge", {"cents": 5}), ToolCall("i2", "mail", {"to": "inside"})],
            "helped",
        )
        helper = LoopAgent(model=model, tools=Registry([charge, mail]))
        return [agent_tool(helper, name="helper", description=""), mail]

    def model(self, name: str, *replies: Any) -> ScriptedModel:
        def noted(reply: Any) -> Any:
            def say_it(_: Any) -> Any:
                self.note("models", name)
                return reply

            return say_it

        return ScriptedModel([noted(reply) for reply in replies], by_history=True)

    def outer(self) -> ScriptedModel:
        calls = [ToolCall("o1", "helper", {"task": "t"}), ToolCall("o2", "mail", {"to": "outside"})]
        return self.model("outer", calls, "done")

    async def run(self) -> ToolLoopResult:
        return await run_tool_loop(self.outer(), self.tools(), "go", run_id=RUN, **self.given)

    async def recover(self) -> ToolLoopResult:
        return await recover_tool_loop(self.outer(), self.tools(), RUN, **self.given)

    async def decide(self) -> None:
        """Approve what is inside the agent, deny the other."""
        for request in await self.approvals.list_pending():
            approved = request.arguments["to"] == "inside"
            decision = ApprovalDecision(approved=approved, decided_by="ann", reason="so be it")
            await self.approvals.decide(request.id, decision)


def told(result: ToolLoopResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "pending": [[each.id, each.tool, each.arguments, each.run_id] for each in result.pending],
        "texts": [message.text for message in result.messages],
    }


def main(task: str, path: str) -> None:
    lab = Lab(path)
    if task == "decide":
        asyncio.run(lab.decide())
        return
    if task == "race":
        say("ready")
        sys.stdin.readline()
    try:
        say(told(asyncio.run(lab.run() if task == "run" else lab.recover())))
    except (CheckpointConflict, RecoveryNeedsDecision) as exc:
        # The second one: it looked while the winner was in the body.
        say({"status": "lost", "why": str(exc)})


if __name__ == "__main__":
    main(*sys.argv[1:])
