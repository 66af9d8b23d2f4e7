"""What our layer adds to a LangGraph agent: `create_agent` on AsyncSqliteSaver, bare and with durable tools, interleaved.

Work: a scripted model with no latency, N turns of one call with a 2 kB result. Both sides run with durability="sync", and
both databases with synchronous=FULL, so each side is as safe against a power cut as it can be.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiosqlite
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent_adapter.policies import ToolPolicy
from agent_adapter_langgraph import DurableTools

TURNS = (10, 30, 100)
ROUNDS = 3
RESULT = "r" * 2000


class Scripted(BaseChatModel):
    """A model that asks for one call a turn and then ends."""

    turns: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        """The model itself: its script says what it asks for."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        asked = sum(message.type == "ai" for message in messages)
        calls = [{"name": "look_up", "args": {"n": asked}, "id": f"c{asked}", "type": "tool_call"}]
        reply = AIMessage("", tool_calls=calls) if asked < self.turns else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
async def look_up(n: int) -> str:
    """Look something up."""
    return RESULT


async def run(turns: int, durable: DurableTools | None, folder: Path) -> float:
    """Milliseconds per call of one run."""
    async with aiosqlite.connect(folder / f"saver-{time.monotonic_ns()}.db") as connection:
        await connection.execute("PRAGMA synchronous=FULL")
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        agent = create_agent(
            Scripted(turns=turns),
            [look_up],
            middleware=durable.middleware() if durable else (),
            checkpointer=saver,
        )
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * turns + 100}
        began = time.perf_counter()
        await agent.ainvoke({"messages": [("user", "go")]}, config, durability="sync")
        return (time.perf_counter() - began) * 1000 / turns


async def main() -> None:
    """Print one row per number of turns: medians, and ours beside bare, pair by pair."""
    kinds = {
        "protected": {},
        "idempotent": {"look_up": ToolPolicy(idempotent=True)},
        "read-only": {"look_up": ToolPolicy(read_only=True)},
    }
    print("turns  bare ms/call  " + "  ".join(f"{kind:>10}" for kind in kinds) + "   (ours / bare)")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for turns in TURNS:
            bare: list[float] = []
            ratios: dict[str, list[float]] = {kind: [] for kind in kinds}
            for n in range(ROUNDS + 1):
                plain = await run(turns, None, folder)
                for kind, policies in kinds.items():
                    durable = DurableTools(folder / f"{kind}-{turns}-{n}.db", policies=policies)
                    ratio = await run(turns, durable, folder) / plain
                    if n:  # the first round warms up
                        ratios[kind].append(ratio)
                if n:
                    bare.append(plain)
            row = "  ".join(f"{statistics.median(ratios[kind]):>10.2f}" for kind in kinds)
            print(f"{turns:>5}  {statistics.median(bare):>12.2f}  {row}")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
