"""What the bridge's tests share: fresh durable tools, checkpointers, the ways in, both drivers, and child processes."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent_adapter_langgraph import DurableTools

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from lg_scripted import THREAD, Oracle, sqlite_saver  # noqa: E402 - found by the line above


@pytest.fixture
def oracle(tmp_path: Path) -> Oracle:
    """The file of effects."""
    return Oracle(tmp_path / "effects")


@pytest.fixture
def make_durable(tmp_path: Path) -> Callable[..., DurableTools]:
    """Make durable tools on this test's SQLite file; a second one is a second worker or a later deploy."""
    return lambda **settings: DurableTools(tmp_path / "runs.db", **settings)


@pytest.fixture
def durable(make_durable: Callable[..., DurableTools]) -> DurableTools:
    return make_durable()


@pytest.fixture
def sync_saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    saver = sqlite_saver(tmp_path / "graph.db")
    yield saver
    saver.conn.close()


@pytest.fixture
async def async_saver(tmp_path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
        yield saver


class Driver:
    """`invoke` or `ainvoke` of the thread, under one name, with a checkpointer that fits."""

    def __init__(self, kind: str, saver: Any) -> None:
        self.kind = kind
        self.saver = saver

    async def invoke(self, app: Any, given: Any, config: Any = THREAD, **options: Any) -> Any:
        if self.kind == "async":
            return await app.ainvoke(given, config, **options)
        return await asyncio.to_thread(app.invoke, given, config, **options)


@pytest.fixture(params=["sync", "async"])
async def driver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Driver]:
    """Both drivers, each on a real SQLite checkpointer."""
    if request.param == "sync":
        saver = sqlite_saver(tmp_path / "graph.db")
        yield Driver("sync", saver)
        saver.conn.close()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as async_saver:
            yield Driver("async", async_saver)


@pytest.fixture(params=["node", "agent", "wrapped"])
def way(request: pytest.FixtureRequest) -> str:
    """The three ways in for whole agents: tool_node, middleware, wrapped tools in LangGraph's own node."""
    way: str = request.param
    return way
