"""The types that users of loops, agents, approvals and plans rely on: mypy reads this file, nothing runs it."""

from collections.abc import Sequence
from typing import Any, assert_type

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from agent_adapter import (
    ApprovalDecision,
    ApprovalPort,
    ApprovalRequest,
    ApprovalStore,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    RunLimits,
    SQLiteApprovalStore,
    Step,
    StoreApprovals,
    ToolCall,
    ToolResult,
    acall,
    call,
    configure,
    recover_tool_loop,
    run_tool_loop,
    tool,
)
from agent_adapter.errors import ApprovalPending
from agent_adapter.exec import (
    Backoff,
    DoNotRun,
    HandoffModel,
    Happened,
    LoopAgent,
    Ref,
    Rerun,
    ToolLoopResult,
    agent_depth,
    agent_tool,
    default_executor,
    default_registry,
    handoff,
    runner_for,
)
from agent_adapter.models import Message, Model, ModelReply, Usage
from agent_adapter.policies import Deny, Event, Guard, Hook, Replace
from agent_adapter.testing.models import ScriptedModel
from agent_adapter_langgraph import ChatModel


class Order(BaseModel):
    cents: int


class Cap(Guard):
    """A guard."""

    def before(self, call: ToolCall, ctx: RunContext) -> Deny | Replace | None:
        return Deny("too much") if ctx.user is None else None


class Watch(Hook):
    """A hook."""

    async def after(self, call: ToolCall, result: ToolResult, ctx: RunContext) -> None: ...


def listen(event: Event) -> None: ...


async def shorter(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[-10:]


@tool(confirm=lambda arguments, ctx: arguments["cents"] > 100, guards=(Cap(),), timeout=5)
def charge(cents: int) -> str:
    return str(cents)


approval_stores: list[ApprovalStore] = [MemoryApprovalStore(), SQLiteApprovalStore("a.db")]
port: ApprovalPort = StoreApprovals(approval_stores[0], expires_after_s=3600)
models: list[Model] = [ScriptedModel(["done"]), HandoffModel(ScriptedModel(["done"]))]
executor = Executor(
    approvals=port,
    guards=[Cap()],
    hooks=[Watch()],
    sinks=[listen],
    retry=3,
    backoff=Backoff(maximum=5),
    limits=RunLimits(max_tool_calls=10, max_seconds=60),
)


async def loops(model: Model, chat: BaseChatModel) -> None:
    result = await run_tool_loop(
        model,
        [charge],
        "hi",
        checkpoints="runs.db",
        executor=executor,
        output_schema=Order,
        compression=shorter,
        on_text=print,
        on_event=listen,
    )
    assert_type(result, ToolLoopResult)
    assert_type(result.pending, tuple[ApprovalRequest, ...])
    assert_type(result.reply, ModelReply | None)
    assert_type(result.usage, Usage)
    await recover_tool_loop(
        ChatModel(chat),
        Registry([charge]),
        "order-42",
        checkpoints="runs.db",
        decisions={"a": Rerun(), "b": Happened(5), "c": DoNotRun("no")},
    )


async def executor_calls() -> None:
    plan = [Step("a", charge, {"cents": 5}), Step("b", "charge", {"cents": Ref("a.cents")})]
    assert_type(await executor.run_plan(plan), dict[str, ToolResult])
    assert_type(executor.run_plan_sync(plan), dict[str, ToolResult])
    assert_type(await executor.resume("id", True, decided_by="Grace"), ToolResult)
    assert_type(executor.resume_sync("id", ApprovalDecision(approved=False)), ToolResult)
    assert_type(executor.run_many_sync([ToolCall("a", "charge")]), list[ToolResult])
    answer: Any = await acall(charge, {"cents": 5})
    assert answer == call("charge", {"cents": 5}, timeout=1)


def agents(model: Model, error: ApprovalPending) -> None:
    agent = LoopAgent(model=model, tools=Registry([charge]), instructions="Be brief.")
    assert_type(agent.first_messages("task"), list[Message])
    default_registry().add(agent_tool(agent, name="clerk", description="Charges.", confirm=True))
    default_registry().add(handoff(agent, name="boss", description="Decides."))
    assert_type(agent_depth(), int)
    assert_type(error.requests, tuple[Any, ...])


configure(timeout=5, limits=RunLimits(max_cost=1.5), checkpoint_key=b"0123456789abcdef")
assert_type(runner_for(None), Executor)
assert_type(default_executor(), Executor)
