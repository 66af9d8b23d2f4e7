"""The types that users rely on: mypy reads this file together with the packages, nothing runs it."""

from collections.abc import Sequence
from typing import assert_type

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from agent_adapter import ToolPolicy
from agent_adapter.errors import DoubtfulCall, RecoveryNeedsDecision
from agent_adapter.exec.checkpoints import (
    CallClaims,
    CallRecord,
    CheckpointStore,
    MemoryCheckpointStore,
    SQLiteCheckpointStore,
    StoredCheckpoint,
    idempotency_key,
)
from agent_adapter_langgraph import DurableTools

assert_type(idempotency_key(), str | None)

stores: list[CheckpointStore] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db", timeout=5)]
claimers: list[CallClaims] = [MemoryCheckpointStore(), SQLiteCheckpointStore("a.db")]


async def a_store(store: CheckpointStore) -> None:
    assert_type(await store.latest("run"), StoredCheckpoint | None)
    assert_type(await store.calls("run", 0), list[CallRecord])
    assert_type(await store.list_unfinished(name="loop", limit=1), list[str])
    assert_type(await store.delete("run"), bool)


async def claims(store: CallClaims, record: CallRecord) -> None:
    assert_type(await store.claim_call("run", 0, record, None, step=0), CallRecord)
    assert_type(await store.position("run"), tuple[int, int] | None)


def doubts(error: RecoveryNeedsDecision) -> None:
    assert_type(error.calls, tuple[DoubtfulCall, ...])


def langgraph_ways_in(model: BaseChatModel, tools: Sequence[BaseTool]) -> None:
    durable = DurableTools("runs.db", policies={"charge": ToolPolicy(confirm=True)})
    create_agent(model, tools, middleware=[*durable.middleware()])
    replaced: ToolNode = durable.tool_node(tools)
    StateGraph(MessagesState).add_node("tools", replaced)
