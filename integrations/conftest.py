"""What the tests of both bridges share: readable failures of the published contract, and child processes."""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("agent_adapter.testing")
sys.path.insert(0, str(Path(__file__).parent))

from bridge_child import play  # noqa: E402 - found by the line above

# Each child is a fork of a server that has imported the frameworks once: a real process without the seconds of imports.
PROCESSES = multiprocessing.get_context("forkserver")
# It finds installed modules only: `sys.path` of this process never reaches it.
PROCESSES.set_forkserver_preload(
    [
        "pytest",
        "agent_adapter_adk",
        "agent_adapter_langgraph",
        "google.adk.apps.app",
        "google.adk.artifacts",
        "google.adk.runners",
        "google.adk.sessions.database_session_service",
        "google.adk.sessions.sqlite_session_service",
        "google.adk.tools.agent_tool",
        "google.adk.workflow",
        "langchain.agents",
        "langgraph.checkpoint.sqlite.aio",
    ]
)


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
