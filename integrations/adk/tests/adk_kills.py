"""Where a child process can be killed: after each write of the record, and after each event of the session."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from adk_chat import Chat
from adk_kit import Oracle
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore
from agent_adapter_adk import DurableTools


class Points:
    """Kills this process at the `number`-th write of which `text` is a part of its description."""

    def __init__(self, text: str, number: int = 1) -> None:
        self._text = text
        self._left = number

    def hit(self, what: str) -> None:
        self._left -= self._text in what
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


class KillingStore(SQLiteCheckpointStore):
    """Described as "record tool state": `record charge done`; a lease is `record save`."""

    def __init__(self, path: Path, points: Points) -> None:
        super().__init__(path)
        self._points = points

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        await super().save(run_id, step, checkpoint)
        self._points.hit("record save")

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        await super().record_call(run_id, segment, call)
        self._points.hit(f"record {call.tool} {call.state}")

    async def claim_call(
        self, run_id: str, segment: int, call: CallRecord, seen: CallRecord | None, **more: Any
    ) -> CallRecord:
        standing = await super().claim_call(run_id, segment, call, seen, **more)
        self._points.hit(f"record {call.tool} {call.state}")
        return standing


class KillingService(SqliteSessionService):
    """Described as "event author names": `event root charge` for a call or a response, `event user` for words."""

    def __init__(self, path: Path, points: Points) -> None:
        super().__init__(str(path))
        self._points = points

    async def append_event(self, session: Session, event: Event) -> Event:
        appended = await super().append_event(session, event)
        named = [*event.get_function_calls(), *event.get_function_responses()]
        self._points.hit(" ".join(["event", event.author, *(str(each.name) for each in named)]))
        return appended


def live(
    folder: Path,
    text: str,
    number: int,
    root: Callable[[Oracle], Any],
    act: Callable[[Chat], Awaitable[Any]],
    **settings: Any,
) -> None:
    """In a child: act in a chat on this test's files, and die at that point; ends by itself when it is not reached."""

    async def run() -> None:
        points = Points(text, number)
        durable = DurableTools(KillingStore(folder / "runs.db", points), **settings)
        service = KillingService(folder / "sqlite.db", points)
        chat = Chat(durable, root(Oracle(folder / "effects")), service)
        await act(chat)
        await chat.runner.close()

    asyncio.run(run())
