"""One worker of a durable loop: it starts the run or takes it up, and asks the person until the run has ended."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from loop_points import PointedApprovals, PointedStore, hit
from loop_scenarios import REFUSED, SCENARIOS, Scenario, result_of
from record import Record

from agent_adapter import (
    AgentAdapterError,
    ApprovalDecision,
    ApprovalRequest,
    DoubtfulCall,
    Executor,
    RecoveryNeedsDecision,
    StoreApprovals,
    recover_tool_loop,
    run_tool_loop,
)
from agent_adapter.exec import DoNotRun, Happened, Rerun, ToolLoopResult

RUN = "order-42"
ROUNDS = 12
POKES = 2

# What is said about a call in doubt: the truth; that it is not to be run; and, of a worker that lives, one or the other.
Mood = Literal["honest", "refuse", "rerun", "happened"]
Decisions = Mapping[str, Rerun | Happened | DoNotRun]


class LoopWorker:
    """A process of one run."""

    def __init__(self, scenario: str, folder: Path, *, mood: Mood = "honest") -> None:
        self.scenario: Scenario = SCENARIOS[scenario]
        self.record = Record(folder)
        self._mood = mood
        self._store = PointedStore(folder / "runs.db")
        self._approvals = PointedApprovals(folder / "approvals.db")

    async def converse(self) -> None:
        """Go on until the run has ended."""
        for _ in range(ROUNDS):
            stored = await self._store.latest(RUN)
            if stored is not None and stored.checkpoint.status == "done":
                history = [
                    message for chunk in stored.checkpoint.history for message in json.loads(chunk)
                ]
                self.record.add("histories", messages=history)
                return
            try:
                # Whatever was ever said is said again: it is about one attempt, and fits no other.
                result = await self._go(self._said_so_far())
            except RecoveryNeedsDecision as asked:
                self._note_doubts(asked)
                self._decide(asked.calls)
                continue
            if result.status == "paused":
                hit("paused")
                await self.approve(result.pending)
        raise RuntimeError("the run did not end")

    async def unprotected(self) -> None:
        """The same loop without checkpoints, from its start."""
        model, tools = self.scenario.build(self.record)
        await run_tool_loop(model, tools, "go", concurrency=self.scenario.concurrency)

    async def poke(self) -> None:
        """Recover and let nobody decide; what was written meanwhile is noted."""
        for _ in range(POKES):
            if await self._store.latest(RUN) is None:
                return
            before = await self._written()
            ended = await self.once()
            wrote = before != await self._written()
            listed = RUN in await self._store.list_unfinished()
            self.record.add("pokes", ended=ended, wrote=wrote, listed=listed)

    async def once(self, decisions: Decisions | None = None) -> str:
        """How one start or recovery ended; that is written down."""
        try:
            ended = (await self._go(decisions or {})).status
        except AgentAdapterError as error:
            ended = type(error).__name__
            if isinstance(error, RecoveryNeedsDecision):
                self._note_doubts(error)
        self.record.add("ends", ended=ended)
        return str(ended)

    async def approve_all(self) -> None:
        """Decide every request that waits."""
        await self.approve(await self._approvals.list_pending())

    async def approve(self, requests: Sequence[ApprovalRequest]) -> None:
        """Decide these requests."""
        for request in requests:
            self.record.add("decided", request=request.id)
            if request.arguments["order"].startswith(REFUSED):
                said = ApprovalDecision(approved=False, decided_by="ann", reason="not this one")
            else:
                said = ApprovalDecision(approved=True, decided_by="ann")
            await self._approvals.decide(request.id, said)

    def answer(self, doubts: Sequence[Mapping[str, Any]]) -> Decisions:
        """What the person says to noted doubts."""
        return self._decide([DoubtfulCall(**doubt) for doubt in doubts])

    async def _go(self, decisions: Decisions) -> ToolLoopResult:
        model, tools = self.scenario.build(self.record)
        executor = Executor(approvals=StoreApprovals(self._approvals))
        settings: Any = {"executor": executor, "concurrency": self.scenario.concurrency}
        if await self._store.latest(RUN) is None:
            result = await run_tool_loop(
                model, tools, "go", checkpoints=self._store, run_id=RUN, **settings
            )
        else:
            result = await recover_tool_loop(
                model, tools, RUN, checkpoints=self._store, decisions=decisions, **settings
            )
        if result.status == "done":
            self.record.add("results", messages=[asdict(message) for message in result.messages])
        return result

    def _decide(self, calls: Sequence[DoubtfulCall]) -> Decisions:
        """What the person says, noted before anybody hears it."""
        decisions = {call.question_id: self._answer_to(call) for call in calls}
        for name, said in decisions.items():
            self.record.add("said", question=name, how=type(said).__name__, given=asdict(said))
        return decisions

    def _said_so_far(self) -> Decisions:
        kinds = {"Rerun": Rerun, "Happened": Happened, "DoNotRun": DoNotRun}
        said = self.record.read("said")
        return {line["question"]: kinds[line["how"]](**line["given"]) for line in said}

    def _answer_to(self, call: DoubtfulCall) -> Rerun | Happened | DoNotRun:
        if self._mood == "refuse":
            return DoNotRun("nobody knows")
        keys = [line["key"] for line in self.record.read("effects")]
        happened = call.idempotency_key in keys if self._mood == "honest" else self._mood != "rerun"
        return Happened(result_of(call.arguments["order"])) if happened else Rerun()

    def _note_doubts(self, asked: RecoveryNeedsDecision) -> None:
        self.record.add("doubts", calls=[asdict(call) for call in asked.calls])

    async def _written(self) -> str:
        """All that is stored of the run, in short."""
        stored = await self._store.latest(RUN)
        assert stored is not None
        calls = await self._store.calls(RUN, stored.checkpoint.segment)
        parked = await self._approvals.list_pending()
        return hashlib.sha256(repr((stored, calls, parked)).encode()).hexdigest()
