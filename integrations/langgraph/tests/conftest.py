"""What the bridge's tests share: fresh durable tools, checkpointers, the ways in, both drivers, and child processes."""

import asyncio
import multiprocessing
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

from lg_child import play  # noqa: E402 - found by the line above
from lg_scripted import THREAD, Oracle, sqlite_saver  # noqa: E402 - found by the line above

# Each child is a fork of a server that has imported the frameworks once: a real process without the second of imports.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["agent_adapter_langgraph", "langchain.agents", "langgraph.checkpoint.sqlite.aio"]
)


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


class Child:
    """A process that runs one function; `pipe` talks to the connection that the function gets first."""

    def __init__(self, function: Callable[..., None], *arguments: object, talks: bool) -> None:
        self.pipe, theirs = PROCESSES.Pipe()
        given = (theirs, *arguments) if talks else arguments
        self.process = PROCESSES.Process(
            target=play, args=(function.__code__.co_filename, function.__name__, given)
        )
        self.process.start()
        theirs.close()

    def hear(self) -> Any:
        """What the function sends next."""
        assert self.pipe.poll(25), "the child says nothing"
        return self.pipe.recv()

    def end(self) -> int:
        """The exit code, once it has ended by itself: -9 when it killed itself."""
        self.process.join(25)
        assert self.process.exitcode is not None, "the child did not end"
        return self.process.exitcode

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.process.close()
        self.pipe.close()


@pytest.fixture
def start_child() -> Iterator[Callable[..., Child]]:
    """Start a module-level function `(connection, *arguments)` in a process; what still runs at the end is killed."""
    children: list[Child] = []

    def start(function: Callable[..., None], *arguments: object) -> Child:
        children.append(Child(function, *arguments, talks=True))
        return children[-1]

    yield start
    for child in children:
        child.close()


@pytest.fixture
def in_child() -> Iterator[Callable[..., int]]:
    """Run a module-level function `(*arguments)` in a process to its end; its exit code, -9 when it killed itself."""
    children: list[Child] = []

    def run(function: Callable[..., None], *arguments: object) -> int:
        children.append(Child(function, *arguments, talks=False))
        return children[-1].end()

    yield run
    for child in children:
        child.close()
