"""What the tests of agents and of approvals in loops share: workers that die, one durable run, and scripted agents."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from agent_adapter import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStore,
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
from agent_adapter.exec import LoopAgent, ToolLoopResult, agent_tool
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
T = TypeVar("T")
YES = ApprovalDecision(approved=True, decided_by="ann", reason="fine")
NO = ApprovalDecision(approved=False, decided_by="bob", reason="too dear")


class Killed(BaseException):
    """The worker is dead: nothing of it is stored any more."""


class Worker:
    """A store as one worker sees it, until it dies.

    Attributes:
        dead: every operation raises from now on.
        writes: how often it wrote.
        dies_at: the write, from 1, at which it dies; None for never.
        after: it dies when that write is stored, not before.
    """

    def __init__(self, store: DurableStore, name: str, states: dict[str, OwnerState]) -> None:
        self.dead = False
        self.writes = 0
        self.dies_at: int | None = None
        self.after = False
        self._store: Any = store
        self._name, self._states = name, states

    def die(self) -> None:
        """End here."""
        self.dead = True
        self._states[self._name] = "dead"
        raise Killed

    def _alive(self) -> Any:
        if self.dead:
            raise Killed
        return self._store

    async def write(self, doing: Callable[[], Awaitable[T]]) -> T:
        """What a write gives, when the worker lives to see it."""
        self._alive()
        self.writes += 1
        last = self.writes == self.dies_at
        if last and not self.after:
            self.die()
        done = await doing()
        if last:
            self.die()
        return done

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        await self.write(lambda: self._store.save(run_id, step, checkpoint))

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        return await self.write(
            lambda: self._store.claim_call(run_id, segment, call, seen, step=step)
        )

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        await self.write(lambda: self._store.record_call(run_id, segment, call))

    async def delete(self, run_id: str) -> bool:
        return await self.write(lambda: self._store.delete(run_id))

    async def latest(self, run_id: str) -> StoredCheckpoint | None:
        return await self._alive().latest(run_id)

    async def position(self, run_id: str) -> tuple[int, int] | None:
        return await self._alive().position(run_id)

    async def calls(self, run_id: str, segment: int) -> list[CallRecord]:
        return await self._alive().calls(run_id, segment)

    async def list_unfinished(self, *, name: str | None = None, limit: int = 100) -> list[str]:
        return await self._alive().list_unfinished(name=name, limit=limit)

    def embedded_key(self) -> bytes:
        return self._store.embedded_key()

    def owner(self) -> str:
        return self._name

    def liveness(self, owner: str) -> OwnerState:
        return self._states.get(owner, "unknown")


class Bench:
    """One durable run, and the workers that take it up one after the other.

    Attributes:
        store: where the run is kept.
        approvals: where requests wait for a person.
        executor: of every worker that is given no other.
        ran: the effects, `(tool, argument)`, in the order in which they happened.
        keys: the idempotency key of each effect.
        worker: the one that is at it.
        next_dies: where the next one dies, as (write, after it).
        dies_in: the tools in whose body, after the effect, the worker dies.
        states: what workers know of each other.
    """

    def __init__(self, store: DurableStore, approvals: ApprovalStore | None = None) -> None:
        self.store = store
        self.approvals = approvals or MemoryApprovalStore()
        self.executor = Executor(approvals=StoreApprovals(self.approvals))
        self.ran: list[tuple[str, Any]] = []
        self.keys: list[str | None] = []
        self.dies_in: set[str] = set()
        self.states: dict[str, OwnerState] = {}
        self.worker = Worker(store, "none", self.states)
        self.next_dies: tuple[int, bool] | None = None

    async def run(self, model: Any, tools: Sequence[Tool], **given: Any) -> ToolLoopResult:
        """The run as its first worker leaves it."""
        kept = {"checkpoints": self._next(), "run_id": RUN, "executor": self.executor, **given}
        return await run_tool_loop(model, tools, "go", **kept)

    async def recover(self, model: Any, tools: Sequence[Tool], **given: Any) -> ToolLoopResult:
        """The run as the next worker leaves it."""
        kept = {"checkpoints": self._next(), "executor": self.executor, **given}
        return await recover_tool_loop(model, tools, RUN, **kept)

    def die(self) -> None:
        """End the present worker here."""
        self.worker.die()

    async def decide(
        self, requests: Sequence[ApprovalRequest], decision: ApprovalDecision = YES
    ) -> None:
        """Decide these requests."""
        for request in requests:
            await self.approvals.decide(request.id, decision)

    async def step(self) -> tuple[int, str]:
        """The run's position and status."""
        stored = await self.store.latest(RUN)
        assert stored is not None
        return stored.step, stored.checkpoint.status

    async def records(self) -> list[tuple[str, str]]:
        """The call log of the run's present turn, as (tool, state)."""
        position = await self.store.position(RUN)
        assert position is not None
        return [(call.tool, call.state) for call in await self.store.calls(RUN, position[1])]

    def _next(self) -> Worker:
        self.worker = Worker(self.store, f"worker-{len(self.states)}", self.states)
        self.states[self.worker.owner()] = "alive"
        if self.next_dies is not None:
            self.worker.dies_at, self.worker.after = self.next_dies
            self.next_dies = None
        return self.worker

    def effect(self, name: str, argument: Any) -> None:
        """Note that a tool's effect takes place, and die where the test says so."""
        self.ran.append((name, argument))
        self.keys.append(idempotency_key())
        if name in self.dies_in:
            self.die()

    @property
    def charge(self) -> Tool:
        """Takes money: must never happen twice."""

        @tool
        async def charge(cents: int) -> str:
            self.effect("charge", cents)
            return f"charged {cents}"

        return charge

    @property
    def note(self) -> Tool:
        """May be written down again."""

        @tool(idempotent=True)
        async def note(text: str) -> str:
            self.effect("note", text)
            return f"noted {text}"

        return note

    @property
    def mail(self) -> Tool:
        """A person looks first."""

        @tool(confirm=True)
        async def mail(to: str) -> str:
            self.effect("mail", to)
            return f"mailed {to}"

        return mail


def ask(name: str, /, call_id: str | None = None, **arguments: Any) -> ToolCall:
    """A call of the model; its id is made from the tool and the arguments."""
    made = "-".join([name, *map(str, arguments.values())])
    return ToolCall(made if call_id is None else call_id, name, arguments)


def play(*replies: Any) -> ScriptedModel:
    """A model that says these replies, each when the conversation has come so far, in whatever process."""
    return ScriptedModel(replies, by_history=True)


def agent(
    model: Any, *tools: Tool, name: str = "helper", instructions: str = "", **given: Any
) -> Tool:
    """An agent as a tool."""
    settings = {key: given.pop(key) for key in ("max_steps", "output_schema") if key in given}
    made = LoopAgent(model=model, tools=Registry(tools), instructions=instructions, **settings)
    return agent_tool(made, name=name, description="helps", **given)


def said(result: ToolLoopResult) -> list[tuple[str, str]]:
    """The conversation as (role, text)."""
    return [(message.role, message.text) for message in result.messages]


def shown(model: ScriptedModel) -> list[str]:
    """The texts of the last request."""
    return [message.text for message in model.requests[-1].messages]
