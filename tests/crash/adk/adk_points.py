"""Where an ADK run can be killed: after each write of its record and of its session; and the databases of both."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from google.adk.events.event import Event
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from loop_points import hit

from agent_adapter.exec.checkpoints import CallRecord, Checkpoint, SQLiteCheckpointStore

Service = Literal["sqlite", "database"]


class PointedStore(SQLiteCheckpointStore):
    """The store of the record, with a point after each write: between two writes nothing changes that outlives a process."""

    async def save(self, run_id: str, step: int, checkpoint: Checkpoint) -> None:
        await super().save(run_id, step, checkpoint)
        hit(f"after save {checkpoint.kind} {checkpoint.status}")

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        await super().record_call(run_id, segment, call)
        hit(f"after record {call.tool} {call.state}")

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        standing = await super().claim_call(run_id, segment, call, seen, step=step)
        hit(f"after claim {call.tool} {call.state}")
        return standing


class PointedSqlite(SqliteSessionService):
    """ADK's own session service on a file, with a point after each event."""

    async def append_event(self, session: Session, event: Event) -> Event:
        appended = await super().append_event(session, event)
        if not event.partial:
            hit(f"after event {describe(event)}")
        return appended


class PointedDatabase(DatabaseSessionService):
    """As `PointedSqlite`, through SQLAlchemy."""

    async def append_event(self, session: Session, event: Event) -> Event:
        appended = await super().append_event(session, event)
        if not event.partial:
            hit(f"after event {describe(event)}")
        return appended


def open_service(kind: Service, folder: Path) -> BaseSessionService:
    """The session service on this run's file."""
    if kind == "sqlite":
        return PointedSqlite(str(folder / "sessions.db"))
    return PointedDatabase(f"sqlite+aiosqlite:///{folder}/sessions.db")


def describe(event: Event) -> str:
    """An event in a few words, the same words each time."""
    said: Sequence[Any] = (event.content and event.content.parts) or ()
    words = [event.author]
    for part in said:
        if part.function_call:
            words.append(f"calls {part.function_call.name}")
        elif part.function_response:
            words.append(f"answers {part.function_response.name}")
        elif part.text:
            words.append("text")
    words += ["ends"] if event.actions.end_of_agent else []
    words += ["state"] if event.actions.agent_state is not None else []
    words += [f"error {event.error_code}"] if event.error_code else []
    return " ".join(words)
