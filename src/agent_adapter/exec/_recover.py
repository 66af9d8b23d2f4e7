"""recover_tool_loop: take up a run where its worker left it; first look and refuse, then cut others off, then go on."""

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from agent_adapter.context import RunContext
from agent_adapter.errors import CheckpointConflict, RecoveryNeedsDecision, ToolUsageError
from agent_adapter.exec._asking import Compression, OnText
from agent_adapter.exec._doubts import Doubts
from agent_adapter.exec._driving import Loop, ToolLoopResult, Tools
from agent_adapter.exec._entering import FIRST_PAUSE_S, LONGEST_PAUSE_S
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._keys import CheckpointKey, key_ring
from agent_adapter.exec._ledger import Ledger
from agent_adapter.exec._looking import Entries
from agent_adapter.exec._loop_durable import CLAIM_WAIT_S, Durable
from agent_adapter.exec._loop_log import LoopLog, Opened
from agent_adapter.exec._loop_state import Resumed, advance
from agent_adapter.exec._loop_store import LoopStore, Stored
from agent_adapter.exec._questions import Decision, DoNotRun, Happened, Rerun
from agent_adapter.exec.checkpoints import CheckpointStore, open_store
from agent_adapter.models import Model
from agent_adapter.policies import Sink


async def recover_tool_loop(
    model: Model,
    registry: Tools,
    run_id: str,
    *,
    checkpoints: CheckpointStore | str | os.PathLike[str],
    checkpoint_key: CheckpointKey | None = None,
    decisions: Mapping[str, Decision] | None = None,
    rerun_in_doubt: bool = False,
    max_steps: int = 8,
    executor: Executor | None = None,
    ctx: RunContext | None = None,
    output_schema: Any = None,
    tool_choice: str = "auto",
    concurrency: int | None = None,
    stage: str = "tool_loop",
    request_options: Mapping[str, Any] | None = None,
    compression: Compression | None = None,
    on_text: OnText | None = None,
    on_event: Sink | None = None,
) -> ToolLoopResult:
    """The end of a run that was interrupted, killed or paused: finished calls are answered from the record.

    A call that may have taken effect runs again only if its tool is idempotent, its `reconcile` probe or an entry of
    `decisions` says so, or with `rerun_in_doubt`. While a paused run's requests are undecided, it is paused again and
    nothing is written.

    Args:
        model: as in `run_tool_loop`, like every argument that is not named here.
        registry: the run's tools; those of unfinished calls have to be among them.
        run_id: the run.
        checkpoints: the store that keeps it.
        checkpoint_key: as for the run.
        decisions: by question id (see `RecoveryNeedsDecision.calls`): `Rerun()`, `Happened(value)` or `DoNotRun(reason)`. A
            question id names one exact attempt, so an answer fits no other; what is not asked any more is left alone.
        rerun_in_doubt: `Rerun()` for every call that is in doubt now; whoever says so has checked that this does no harm.
        max_steps: model calls of the whole run, before the crash too.
        executor: as in `run_tool_loop`.
        ctx: as in `run_tool_loop`.
        output_schema: has to be the run's own.
        tool_choice: as in `run_tool_loop`.
        concurrency: as in `run_tool_loop`.
        stage: has to be the run's own.
        request_options: as in `run_tool_loop`.
        compression: as in `run_tool_loop`.
        on_text: as in `run_tool_loop`.
        on_event: as in `run_tool_loop`.

    Raises:
        CheckpointNotFound: nothing is stored under this run id.
        CheckpointConflict: another worker took the run, it ended, or it is not this loop's (another kind, stage or output
            schema).
        CheckpointStoreCorrupt: a stored document, its seal or the history does not match; nothing in it was used.
        RecoveryNeedsDecision: calls may have taken effect and nobody has said what became of them.
        ApprovalConflict: the decision about a call was used already, or somebody decided differently.
        ToolUsageError: an argument is wrong, or the tool of a recorded call is missing or takes other arguments by now;
            nothing was written.
        ConfigError: a setting is wrong, or the store cannot be used.
        ModelError: the model failed or its reply is none; the run can be recovered again.
        RunLimitExceeded: a limit of the run, or `max_steps`, is reached.
        NotSealable: as for `run_tool_loop`.
    """
    given = _checked(decisions)
    loop = Loop.of(
        model,
        registry,
        executor=executor,
        ctx=ctx,
        max_steps=max_steps,
        output_schema=output_schema,
        tool_choice=tool_choice,
        concurrency=concurrency,
        stage=stage,
        request_options=request_options,
        compression=compression,
        on_text=on_text,
        on_event=on_event,
    )
    loop.check_approvals()
    store = open_store(checkpoints)
    ring = await asyncio.to_thread(key_ring, store, checkpoint_key)
    kept = LoopStore(store, ring, run_id, name=stage, schema=None)
    stored = await kept.read()
    _check_same(run_id, stored, loop)
    recovery = _Recovery(loop, kept, given)
    entries = await recovery.entries()
    if stored.state.phase == "asking":
        loop.check_steps(stored.state)
    calls = stored.state.reply.calls if stored.state.reply and entries else ()
    recovery.doubts.check_calls(entries, calls)
    doubts = (await recovery.doubts.look(entries)).doubts
    if rerun_in_doubt:
        given.update({call.question_id: Rerun() for call in doubts})
    elif doubts:
        raise RecoveryNeedsDecision(run_id, doubts)
    if stored.status == "paused":
        waiting = await recovery.doubts.undecided(entries, calls)
        if waiting:
            return loop.paused(stored.state, kept.run_id, waiting)
    return await recovery.go_on(stored)


class _Recovery:
    """One worker's way into a run: what it reads and writes before the loop goes on."""

    def __init__(self, loop: Loop, kept: LoopStore, decisions: dict[str, Decision]) -> None:
        self._loop = loop
        self._kept = kept
        self._decisions = decisions
        self._opened: Opened = {}
        self._probes: dict[tuple[str, str], Any] = {}
        self.doubts = self._doubts()

    def _doubts(self) -> Doubts:
        kept = self._kept
        log = LoopLog(kept.store, kept.ring, kept.run_id, kept.position, opened=self._opened)
        self._log = log
        return Doubts(
            Ledger(kept.store, log=log, probes=self._probes),
            self._loop.asking.registry,
            self._loop.executor,
            name=kept.name,
            run_id=kept.run_id,
            decisions=self._decisions,
        )

    async def entries(self) -> Entries:
        """The records of the present turn."""
        return await self._log.read(self._kept.run_id)

    async def go_on(self, stored: Stored) -> ToolLoopResult:
        """Cut other workers off, wait for what they had begun, and run the loop to its end."""
        state = advance(stored.state, Resumed())
        await self._kept.save(state, stored.used, stored.view)
        self.doubts = self._doubts()
        entries = await self._settled()
        durable = Durable(
            self._kept,
            decisions=self._decisions,
            known={key: record for key, (record, _) in entries.items()},
            used=stored.used,
            claim_wait_s=0.0,
            probes=self._probes,
            opened=self._opened,
            recovered=True,
        )
        return await self._loop.run(state, durable, stored.view)

    async def _settled(self) -> Entries:
        """The records, once whoever began a call in doubt has ended it, is dead, or had the time to.

        Raises:
            RecoveryNeedsDecision: a call is still in doubt.
        """
        give_up = time.monotonic() + CLAIM_WAIT_S
        pause_s = FIRST_PAUSE_S
        while True:
            entries = await self.entries()
            waited = time.monotonic() >= give_up
            found = await self.doubts.look(entries, waited=waited)
            if not found.awaited:
                break
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        if found.doubts:
            raise RecoveryNeedsDecision(self._kept.run_id, found.doubts)
        return entries


def _checked(decisions: Any) -> dict[str, Decision]:
    if decisions is not None and not isinstance(decisions, Mapping):
        raise ToolUsageError(f"decisions is a mapping by question id, not {decisions!r}")
    given = dict(decisions or {})
    entries: Iterable[tuple[object, object]] = given.items()
    for name, decision in entries:
        known = isinstance(decision, Rerun | Happened) or (
            isinstance(decision, DoNotRun) and isinstance(decision.reason, str)
        )
        if not isinstance(name, str) or not known:
            raise ToolUsageError(
                "decisions maps question ids to Rerun(), Happened(value) or DoNotRun(reason), "
                f"not {name!r} to {decision!r}"
            )
    return {
        name: DoNotRun(str.__str__(decision.reason)) if isinstance(decision, DoNotRun) else decision
        for name, decision in given.items()
    }


def _check_same(run_id: str, stored: Stored, loop: Loop) -> None:
    """Nothing, when the stored run is one of this loop and has not ended.

    Raises:
        CheckpointConflict: It is no loop, has ended, or is a run of another loop or output schema.
    """
    if stored.kind != "loop":
        raise CheckpointConflict(run_id, f"it is a {stored.kind}, not a loop")
    if stored.status in ("done", "denied", "failed"):
        raise CheckpointConflict(run_id, f"it ended: its status is {stored.status!r}")
    if stored.name != loop.asking.stage:
        raise CheckpointConflict(
            run_id, f"it is a run of the loop {stored.name!r}, not of {loop.asking.stage!r}"
        )
    if stored.schema != loop.asking.output.digest:
        raise CheckpointConflict(run_id, "it was started with another output_schema")
