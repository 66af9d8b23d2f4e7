"""A session's stored calls, changed as a deploy or somebody's hand may change them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def change_arguments(path: Path, tool: str, arguments: dict[str, Any]) -> None:
    """Give the stored calls of this tool other arguments, under their own ids."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, event_data FROM events").fetchall()
        for name, text in rows:
            event = json.loads(text)
            parts = (event.get("content") or {}).get("parts") or []
            calls = [part.get("function_call") or {} for part in parts]
            for call in calls:
                if call.get("name") == tool:
                    call["args"] = arguments
            connection.execute(
                "UPDATE events SET event_data = ? WHERE id = ?", (json.dumps(event), name)
            )
        connection.commit()
