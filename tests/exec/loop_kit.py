"""What the tests of the loop share: tools that note their effects, a store that fails or counts, and a run on both."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from agent_adapter import (
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    StoreApprovals,
    Tool,
    ToolCall,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import ToolLoopResult
from agent_adapter.exec.checkpoints import (
    CallRecord,
    Checkpoint,
    DurableStore,
    OwnerState,
    StoredCheckpoint,
    idempotency_key,
)
from agent_adapter.testing.models import ScriptedModel

RUN = "run-1"
YES = ApprovalDecision(approved=True, decided_by="ann")
NO = ApprovalDecision(approved=False, decided_by="bob", reason="too dear")


class Outage(Exception):
    """A backend's own error."""


def ask(name: str, /, call_id: str | None = None, **arguments: Any) -> ToolCall:
    """A call of the model; its id is made from the tool and the arguments."""
    made = "-".join([name, *map(str, arguments.values())])
    return ToolCall(made if call_id is None else call_id, name, arguments)


class Tape:
    """A store as one worker sees it: notes its writes, and breaks at the one that a test names.

    Attributes:
        writes: what was written so far, `save` with the status or `claim` with the state.
        breaks_at: the number of the write, from 1, that raises; so does every later one, as for a dead worker.
        answer_lost: the write that breaks is stored all the same.
        before: awaited before each write, with its name.
        after: called after each write, with its name.
        states: what this worker knows of others.
    """

    def __init__(self, store: DurableStore, owner: str | None = None) -> None:
        self.store = store
        self.writes: list[str] = []
        self.breaks_at: int | None = None
        self.answer_lost = False
        self.before: Callable[[str], Awaitable[None]] | None = None
        self.after: Callable[[str], None] | None = None
        self.states: dict[str, OwnerState] = {}
        self._owner = owner

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        saving = self.store.save(run_id, step, checkpoint)
        await self._write(f"save {checkpoint.status}", saving)

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        claiming = self.store.claim_call(run_id, segment, call, seen, step=step)
        return await self._write(f"claim {call.state}", claiming)

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        await self._write(f"record {call.state}", self.store.record_call(run_id, segment, call))

    async def delete(self, run_id: str) -> bool:
        return await self._write("delete", self.store.delete(run_id))

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        return await self.store.latest(run_id)

    async def position(self, run_id: str) -> tuple[int, int] | None:
        return await self.store.position(run_id)

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        return await self.store.calls(run_id, segment)

    async def find_call(self, run_id: str, key: str) -> tuple[int, CallRecord | None] | None:
        return await self.store.find_call(run_id, key)

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        return await self.store.list_unfinished(name=name, limit=limit)

    def embedded_key(self) -> bytes:
        return self.store.embedded_key()

    def owner(self) -> str:
        return self._owner or self.store.owner()

    def liveness(self, owner: str) -> OwnerState:
        return self.states.get(owner) or self.store.liveness(owner)

    async def _write(self, what: str, writing: Coroutine[Any, Any, Any]) -> Any:
        try:
            if self.before is not None:
                await self.before(what)
            self.writes.append(what)
            number = len(self.writes)
            broken = self.breaks_at is not None and number >= self.breaks_at
            if broken and not (self.answer_lost and number == self.breaks_at):
                raise Outage(f"write {number}: {what}")
            written = await writing
            if self.after is not None:
                self.after(what)
            if broken:
                raise Outage(f"the answer to write {number}: {what}")
            return written
        finally:
            writing.close()


class Lab:
    """One run of one script: `run` begins it, `recover` takes it up with a model made anew, as another process would.

    Attributes:
        tape: the worker's store; `store` is what is under it.
        ran: the effects, `(tool, argument)`, in the order in which they happened.
        keys: the idempotency key of each effect.
        inside: by tool, what its body does after its effect.
        approvals: where requests wait for a person.
        models: the model of each life of the run.
    """

    def __init__(self, store: DurableStore) -> None:
        self.store = store
        self.tape = Tape(store)
        self.ran: list[tuple[str, Any]] = []
        self.keys: list[str | None] = []
        self.inside: dict[str, Callable[[Any], Any]] = {}
        self.approvals = MemoryApprovalStore()
        self.executor = Executor(approvals=StoreApprovals(self.approvals))
        self.models: list[ScriptedModel] = []
        self.script: Sequence[Any] = ()
        self.tools = self._tools()

    def play(self, *script: Any) -> None:
        """What the model says, turn by turn."""
        self.script = script

    async def run(self, **given: Any) -> ToolLoopResult:
        """The run's first life."""
        kept = {"checkpoints": self.tape, "run_id": RUN, "executor": self.executor, **given}
        return await run_tool_loop(self._model(), self.tools, "go", **kept)

    async def recover(self, **given: Any) -> ToolLoopResult:
        """Its next one; what broke works again, unless another store is given."""
        self.tape.breaks_at = None
        kept = {"checkpoints": self.tape, "executor": self.executor, **given}
        return await recover_tool_loop(self._model(), self.tools, RUN, **kept)

    async def decide(self, decision: ApprovalDecision = YES) -> None:
        """Decide every request that waits."""
        for request in await self.approvals.list_pending():
            await self.approvals.decide(request.id, decision)

    async def status(self) -> str:
        stored = await self.store.latest(RUN)
        assert stored is not None
        return stored.checkpoint.status

    async def records(self) -> list[CallRecord]:
        """The call log of the run's present segment."""
        position = await self.store.position(RUN)
        assert position is not None
        return await self.store.calls(RUN, position[1])

    async def snapshot(self) -> Any:
        """Everything that is stored of the run."""
        return await self.store.latest(RUN), await self.records()

    @property
    def asked(self) -> int:
        """How often a model was asked, in all lives."""
        return sum(len(model.requests) for model in self.models)

    def break_at(self, write: int, *, answer_lost: bool = False) -> None:
        self.tape.breaks_at, self.tape.answer_lost = write, answer_lost

    def _model(self) -> ScriptedModel:
        self.models.append(ScriptedModel(self.script, by_history=True))
        return self.models[-1]

    async def _effect(self, name: str, argument: Any) -> Any:
        self.ran.append((name, argument))
        self.keys.append(idempotency_key())
        then = self.inside.get(name)
        if then is not None and asyncio.iscoroutine(said := then(argument)):
            return await said
        return None if then is None else said

    def _tools(self) -> Registry:
        @tool
        async def charge(cents: int) -> str:
            """Takes money: must never happen twice."""
            said = await self._effect("charge", cents)
            return f"charged {cents}" if said is None else said

        @tool(idempotent=True)
        async def note(text: str) -> str:
            """May be written down again."""
            await self._effect("note", text)
            return f"noted {text}"

        @tool(confirm=True)
        async def mail(to: str) -> str:
            """A person looks first."""
            await self._effect("mail", to)
            return f"mailed {to}"

        return Registry([charge, note, mail])

    def without(self, name: str) -> None:
        """Take a tool away."""
        self.tools = Registry(
            [self.tools.get(other) for other in self.tools.names() if other != name]
        )

    def change(self, name: str, **policy: Any) -> Tool:
        """Give a tool another policy."""
        changed = replace(self.tools.get(name), **policy)
        self.without(name)
        self.tools.add(changed)
        return changed


def said(result: ToolLoopResult) -> list[tuple[str, str]]:
    """The conversation as (role, text)."""
    return [(message.role, message.text) for message in result.messages]
