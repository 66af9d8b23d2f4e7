"""The types that users rely on: mypy reads this file together with the packages, nothing runs it."""

from collections.abc import Callable, Sequence
from typing import Any, assert_type

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from agent_adapter import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStore,
    Executor,
    MemoryApprovalStore,
    Registry,
    RunContext,
    Tool,
    ToolCall,
    ToolPolicy,
    ToolResult,
    ToolSpec,
    tool,
)
from agent_adapter.errors import DoubtfulCall, MissingDependency, NotSealable, RecoveryNeedsDecision
from agent_adapter.exec import (
    DidNotHappen,
    Happened,
    OnError,
    Unknown,
    is_control_flow,
    register_control_flow,
)
from agent_adapter.exec.checkpoints import (
    CallClaims,
    CallLookup,
    CallRecord,
    CheckpointStore,
    DurableStore,
    EmbeddedKey,
    Liveness,
    MemoryCheckpointStore,
    RunInfo,
    RunListing,
    SQLiteCheckpointStore,
    StoredCheckpoint,
    idempotency_key,
    open_store,
)
from agent_adapter.exec.integration import (
    AnswerEntry,
    Journal,
    JournalData,
    Pending,
    Slot,
    approval_store,
    check_plain,
    encode,
    gather_unwrapped,
    make_answer,
    make_journal,
    same_decision,
    settle_own,
    unsealable_calls,
    visit_scope,
)
from agent_adapter.runtime import LoopRunner
from agent_adapter_langgraph import DurableTools

assert_type(idempotency_key(), str | None)

stores: list[CheckpointStore] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db", timeout=5)]
claimers: list[CallClaims] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]
listings: list[RunListing] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]
lookups: list[CallLookup] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]
keyed: list[EmbeddedKey] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]
living: list[Liveness] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]
assert_type(open_store("a.db"), DurableStore)


async def a_store(store: CheckpointStore) -> None:
    assert_type(await store.latest("run"), StoredCheckpoint | None)
    assert_type(await store.calls("run", 0), list[CallRecord])
    assert_type(await store.list_unfinished(name="loop", limit=1), list[str])
    assert_type(await store.delete("run"), bool)


async def claims(store: CallClaims, record: CallRecord) -> None:
    assert_type(await store.claim_call("run", 0, record, None, step=0), CallRecord)
    assert_type(await store.position("run"), tuple[int, int] | None)


async def a_listing(store: RunListing, lookup: CallLookup) -> None:
    assert_type(await store.list_runs(name="a", kind="flow", status="done"), list[RunInfo])
    assert_type(await store.prune(3600, limit=10), int)
    assert_type(await lookup.find_call("run", "key"), tuple[int, CallRecord | None] | None)


def doubts(error: RecoveryNeedsDecision, refused: NotSealable, missing: MissingDependency) -> None:
    assert_type(error.calls, tuple[DoubtfulCall, ...])
    assert_type((refused.path, refused.type_name), tuple[str, str])
    import_errors: list[ImportError] = [missing]
    assert_type(import_errors[0].name, str | None)


@tool
def lookup_rate(currency: str, ctx: RunContext) -> float:
    """The rate."""
    return len(currency) / len(ctx.user or "?")


def asks_the_bank(arguments: object, key: str | None) -> Happened | DidNotHappen | Unknown:
    return Happened(arguments) if key else Unknown()


@tool(name="charge", idempotent=False, reconcile=asks_the_bank, did_not_happen=(ConnectionError,))
async def charge_card(cents: int) -> str:
    return str(cents)


assert_type(lookup_rate, Tool)
assert_type(charge_card, Tool)
assert_type(lookup_rate.spec, ToolSpec)
a_tool_is_a_policy: ToolPolicy = charge_card


async def calls(executor: Executor, batch: list[ToolCall], on_error: OnError) -> None:
    assert_type(await executor.run_call(batch[0], RunContext(user="ada")), ToolResult)
    assert_type(await executor.run_many(batch, concurrency=2, on_error=on_error), list[ToolResult])
    value: float = await executor.run(lookup_rate, {"currency": "EUR"}, timeout=5)
    assert value


executor = Executor(Registry([lookup_rate, charge_card]), timeout=1.5, concurrency=4)
assert_type(executor.registry.get("charge"), Tool | None)
assert_type(is_control_flow(ValueError()), bool)
register_control_flow(KeyError, KeyboardInterrupt)
assert_type(LoopRunner().run(MemoryCheckpointStore().delete("run"), timeout=1), bool)


async def seam(journal: Journal, request: ApprovalRequest, decision: ApprovalDecision) -> None:
    data: JournalData = journal.data(drop={"scratch"})
    entry: AnswerEntry = (request, decision, True)
    waiting: Pending = (request, MemoryApprovalStore())
    with visit_scope(make_answer([entry]), make_journal(data)):
        slot = journal.claim("charge", {"cents": 5}, str)
    if slot is not None:
        await journal.started(slot)
        journal.record(slot, ToolResult(call_id="c", tool="charge"))
        await journal.settle(slot, ToolResult(call_id="c", tool="charge"))
    assert_type(slot, Slot | None)
    assert_type(journal.durable, bool)
    assert_type(journal.child("item", data, calls=False), Journal)
    assert_type(unsealable_calls(data, "run/"), list[str])
    assert_type(approval_store(waiting[1]), ApprovalStore | None)
    assert_type(same_decision(decision, decision), bool)
    await settle_own(executor, request, decision)
    check_plain(encode({"any": object}))
    journal.close()


async def gathered(factories: list[Callable[[], Any]]) -> None:
    assert len(await gather_unwrapped(factories, concurrency=2)) == len(factories)


def langgraph_ways_in(
    model: BaseChatModel, tools: Sequence[BaseTool], inside: AgentMiddleware[Any, Any, Any]
) -> None:
    durable = DurableTools("runs.db", policies={"search": ToolPolicy(read_only=True)})
    create_agent(model, tools, middleware=[*durable.middleware()])
    create_agent(model, tools, middleware=durable.middleware(inside, repair=True))
    replaced: ToolNode = durable.tool_node(tools, handle_tool_errors=True)
    StateGraph(MessagesState).add_node("tools", replaced)
    assert_type(durable.wrap(tools), list[BaseTool])
    assert_type(durable.store, CheckpointStore)
    assert_type(durable.delete_thread("thread"), int)
    assert_type(durable.prune(3600), int)


async def langgraph_async(durable: DurableTools, state: MessagesState) -> None:
    assert_type(await durable.arepair(state, "thread"), list[Any])
    assert_type(await durable.adelete_run("order-42"), int)


durable_tools = DurableTools(MemoryCheckpointStore(), on_fork="ask", streaming="mark")


@durable_tools.turn
def call_model(state: MessagesState) -> MessagesState:
    return state


@durable_tools.node
async def settle(state: MessagesState) -> dict[str, int]:
    return {"n": len(state["messages"])}


def decorated_nodes_keep_their_types(state: MessagesState) -> None:
    assert_type(call_model(state), MessagesState)


async def decorated_async_nodes_keep_their_types(state: MessagesState) -> None:
    assert_type(await settle(state), dict[str, int])
