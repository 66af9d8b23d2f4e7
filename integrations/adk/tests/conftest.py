"""What the bridge's tests share: durable tools, session services, chats, an oracle of effects, and child processes."""

import multiprocessing
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.base_session_service import BaseSessionService

from agent_adapter_adk import DurableTools

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from adk_chat import Chat  # noqa: E402 - found by the line above
from adk_child import play  # noqa: E402 - found by the line above
from adk_kit import Oracle, service_on  # noqa: E402 - found by the line above

# Each child is a fork of a server that has imported the framework once: a real process without the seconds of imports.
PROCESSES = multiprocessing.get_context("forkserver")
# It finds installed modules only: `sys.path` of this process never reaches it.
PROCESSES.set_forkserver_preload(
    [
        "pytest",
        "agent_adapter_adk",
        "google.adk.apps.app",
        "google.adk.artifacts",
        "google.adk.runners",
        "google.adk.sessions.database_session_service",
        "google.adk.sessions.sqlite_session_service",
        "google.adk.tools.agent_tool",
        "google.adk.workflow",
    ]
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
async def make_service(tmp_path: Path) -> AsyncIterator[Callable[..., BaseSessionService]]:
    """Make a session service on this test's file: "sqlite" or "database"; a second one is a second worker."""
    made: list[BaseSessionService] = []

    def make(kind: str = "sqlite") -> BaseSessionService:
        made.append(service_on(tmp_path / f"{kind}.db", kind))
        return made[-1]

    yield make
    for service in made:
        await service.close() if hasattr(service, "close") else None


@pytest.fixture
def service(make_service: Callable[..., BaseSessionService]) -> BaseSessionService:
    """ADK's `SqliteSessionService`."""
    return make_service()


@pytest.fixture(params=["sqlite", "database"])
def each_service(
    request: pytest.FixtureRequest, make_service: Callable[..., BaseSessionService]
) -> BaseSessionService:
    """Both of ADK's session services that keep their sessions in a file."""
    return make_service(request.param)


@pytest.fixture
async def make_chat(
    durable: DurableTools, make_service: Callable[..., BaseSessionService]
) -> AsyncIterator[Callable[..., Chat]]:
    """Make a chat with this root agent on this test's files; a second one is a second worker. Closed at the end."""
    made: list[Chat] = []

    def make(root: Any, *, with_: Any = durable, on: Any = None, **settings: Any) -> Chat:
        made.append(Chat(with_, root, on or make_service(), **settings))
        return made[-1]

    yield make
    for chat in made:
        await chat.runner.close()


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
