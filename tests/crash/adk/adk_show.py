"""What a run left behind, in words: its effects, what was said, its session's events and its record."""

import json
import sqlite3
import sys
from pathlib import Path

from adk_points import describe
from google.adk.sessions import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from record import Record

from agent_adapter.exec.checkpoints import SQLiteCheckpointStore

KINDS = ("effects", "said", "passes", "odd", "turns", "ends")


async def show(folder: Path) -> None:
    """Print it."""
    say = sys.stdout.write
    record = Record(folder)
    for kind in KINDS:
        for line in record.read(kind):
            say(f"{kind}: {json.dumps(line)[:600]}\n")
    path = str(folder / "sessions.db")
    with sqlite3.connect(path) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    service: BaseSessionService = SqliteSessionService(path)
    if "adk_internal_metadata" in tables:
        service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    listed = await service.list_sessions(app_name="lab", user_id="ann")
    for each in listed.sessions:
        session = await service.get_session(app_name="lab", user_id="ann", session_id=each.id)
        say(f"--- session {each.id}\n")
        for event in session.events:
            calls = [(c.name, c.id, c.args) for c in event.get_function_calls()]
            answers = [(r.name, r.id, r.response) for r in event.get_function_responses()]
            text = "".join(p.text or "" for p in (event.content and event.content.parts) or [])
            where = f"{event.node_info.path if event.node_info else ''} {event.branch or ''}"
            say(
                f"{event.invocation_id[:6]} [{where}] {describe(event)} {text!r} {calls} {answers}\n"
            )
    if (folder / "runs.db").exists():
        store = SQLiteCheckpointStore(folder / "runs.db")
        say("--- record\n")
        for run in await store.list_runs():
            say(f"{run}\n")
            stored = await store.latest(run.run_id)
            for call in await store.calls(run.run_id, stored.checkpoint.segment if stored else 0):
                say(f"   {call}\n"[:400] + "\n")
