"""A worker that is killed at a chosen point, and a later one that goes on to the end with a person who knows the truth."""

import asyncio
import os
import signal
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adk_chat import Chat
from adk_kit import Oracle
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool

from agent_adapter_adk import DurableTools

# Where a worker dies: in a body, after its effect `tool:x` and once others have ended; or before it stores an event with
# responses ("answers"), with a response of one tool ("answer of tool"), or with the text `said`; or after it stored that an
# agent has ended ("end of agent").
ANSWERS = "answers"


class Ended(BasePlugin):
    """Tells which calls have ended and are on record; stands behind the plugin of the bridge."""

    def __init__(self) -> None:
        super().__init__(name="ended")
        self._ended: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, **_: Any) -> None:
        self._ended[f"{tool.name}:{tool_args.get('x')}"].set()

    async def wait(self, line: str) -> None:
        """Until this call has ended."""
        await self._ended[line].wait()


class Stop(BaseException):
    """Ends a run as a kill would, in this process."""


class Stopping(BasePlugin):
    """Stops the run after a call is on record and before ADK stores its answer; by default the first call.

    Args:
        line: which call.
        after: what has to have ended before.
    """

    def __init__(self, line: str = "", ended: Ended | None = None, after: str = "") -> None:
        super().__init__(name="stopping")
        self._line, self._ended, self._after = line, ended, after

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, **_: Any) -> None:
        if self._line in ("", f"{tool.name}:{tool_args.get('x')}"):
            if self._ended is not None:
                await self._ended.wait(self._after)
            raise Stop


async def stop(chat: Chat, **options: Any) -> None:
    """Say "go" in a task of its own, as a server does for each request, until the run is stopped."""
    with pytest.raises(Stop):
        await asyncio.create_task(chat.say(**options))


class Dying(SqliteSessionService):
    """Kills its process at the first event that is the point."""

    def __init__(self, path: Path, at: str) -> None:
        super().__init__(str(path))
        self._at = at

    async def append_event(self, session: Session, event: Event) -> Event:
        names = [response.name for response in event.get_function_responses()]
        texts = [p.text for p in (event.content.parts or [])] if event.content else []
        if (
            (self._at == ANSWERS and names)
            or self._at in [f"answer of {name}" for name in names]
            or (self._at in texts and event.author != "user")
        ):
            die()
        appended = await super().append_event(session, event)
        if event.actions.end_of_agent and self._at == f"end of {event.author}":
            die()
        return appended


class Stage:
    """The tools of one process, which dies at a point if it has one.

    Args:
        folder: where everything of this test is.
        at: the point.
        after: what has to have ended before it dies in a body.
    """

    def __init__(self, folder: Path, at: str = "", after: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.oracle = Oracle(folder / "effects")
        self.ended = Ended()
        self._at = at
        self._after = after

    def function(self, name: str) -> Callable[..., Any]:
        """`Oracle.function`, in whose body the process may die."""

        async def then(x: str) -> dict[str, str]:
            await self.point(f"{name}:{x}")
            return {"did": f"{name} {x}"}

        return self.oracle.function(name, then)

    async def point(self, line: str) -> None:
        """Die here, if this is the point."""
        if line == self._at:
            for other in self._after:
                await self.ended.wait(other)
            die()

    def tool(self, name: str, **settings: Any) -> FunctionTool:
        """The same as a tool of ADK."""
        return FunctionTool(self.function(name), **settings)

    def perform(self, build: Callable[["Stage"], Any], **settings: Any) -> None:
        """Say "go" to the agent, and die."""

        async def run() -> None:
            durable = DurableTools(self.folder / "runs.db", **settings)
            service = Dying(self.folder / "sqlite.db", self._at)
            await Chat(durable, build(self), service, plugins=(self.ended,)).say()

        asyncio.run(run())


def die() -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


async def to_the_end(chat: Chat, oracle: Oracle) -> list[str]:
    """Go on until nothing is open; what was asked, as `tool:x`. The person says of each call what its effects say."""
    asked = []
    await chat.resume()
    while open_now := await chat.pending():
        said: list[Any] = []
        for each in open_now:
            said.append({one.request_id: _truth(one, oracle) for one in each.inside or (each,)})
            asked += [_line(one) for one in each.inside or (each,)]
        await chat.answer(*(next(iter(s.values())) if len(s) == 1 else s for s in said))
    return asked


def _line(one: Any) -> str:
    return f"{one.tool}:{one.arguments.get('x')}"


def _truth(one: Any, oracle: Oracle) -> Any:
    if _line(one) not in oracle.lines:
        return "approve"
    return {"type": "respond", "message": {"did": f"{one.tool} {one.arguments.get('x')}"}}
