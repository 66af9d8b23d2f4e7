"""What the bridge's tests share: durable tools, session services, chats, an oracle of effects, and child processes."""

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.base_session_service import BaseSessionService

from agent_adapter_adk import DurableTools

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from adk_chat import Chat  # noqa: E402 - found by the line above
from adk_kit import Oracle, service_on  # noqa: E402 - found by the line above


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
