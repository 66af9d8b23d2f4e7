"""What really happened in one run: files of JSON lines that a killed process leaves whole."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any


class Record:
    """The files of one run in a folder of its own.

    `effects`: each effect of a tool, by its order. `told`: each answer that a tool's body was given. `answers`: what the
    person sent, before it was sent. `passes`: how each invocation ended. `turns`: each call of the model.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, kind: str, **line: Any) -> None:
        """Append one line; it is on the disk when this returns."""
        text = json.dumps({**line, "pid": os.getpid()}, default=str) + "\n"
        file = os.open(self.folder / f"{kind}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, text.encode())
            os.fsync(file)
        finally:
            os.close(file)

    def read(self, kind: str) -> list[dict[str, Any]]:
        """Every line so far."""
        path = self.folder / f"{kind}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def effects(self) -> Counter[str]:
        """How often each order took effect."""
        return Counter(line["order"] for line in self.read("effects"))
