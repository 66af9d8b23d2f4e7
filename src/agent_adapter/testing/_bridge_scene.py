"""What a bridge's worker plays: tools that take effect, a model's plan, and the moments at which a worker can be killed."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agent_adapter.calls import ToolCall
from agent_adapter.exec.checkpoints import CallRecord, SQLiteCheckpointStore
from agent_adapter.policies import ToolPolicy

ToolFunction = Callable[[int], Awaitable[Any]]

PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.01


@dataclass(frozen=True)
class Part:
    """What one tool of a scene does: it takes effect, waits for what has to come before, and ends.

    Attributes:
        policy: how it may be run.
        gives: what it returns; by default the text "<name> done".
        raises: the text of the `ValueError` that it raises instead.
        after: the moments that it waits for once it took effect.
    """

    policy: ToolPolicy = field(default_factory=ToolPolicy)
    gives: Any = None
    raises: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """One run in a folder of its own: plain data, so that a worker in another process plays the same.

    Attributes:
        folder: where the worker keeps all that has to survive it.
        turns: what the model asks for, turn by turn; after the last turn it says that it is done.
        parts: what each tool does.
        kill: the moment at which this process is killed, or nothing.
        claim_wait_s: for how long a worker waits for another one.

    The moments: `model 1`, when the model is asked for its first reply; `body pay` and `end pay`, after the tool's effect and
    right before its body ends; `before pay started` and `after pay started`, around the write of a record of that state.
    """

    folder: Path
    turns: tuple[tuple[ToolCall, ...], ...]
    parts: Mapping[str, Part]
    kill: str = ""
    claim_wait_s: float = 0.2

    @property
    def tools(self) -> dict[str, ToolFunction]:
        """The tools' functions by name, each `async (amount: int)`; what they raise is to become an answer for the model."""
        return {name: _function(self, name, part) for name, part in self.parts.items()}

    @property
    def policies(self) -> dict[str, ToolPolicy]:
        """How each tool may be run."""
        return {name: part.policy for name, part in self.parts.items()}

    def reply(self, number: int) -> tuple[ToolCall, ...]:
        """What the model asks for in its reply of this number, from 0; nothing once the plan is over.

        The number is how many replies of its own the model is shown. Call ids are new each time, as a real model's are.
        """
        self.hit(f"model {number + 1}")
        calls = self.turns[number] if number < len(self.turns) else ()
        return tuple(replace(call, id=f"{call.id}.{uuid4().hex[:12]}") for call in calls)

    def store(self) -> SQLiteCheckpointStore:
        """A store of records for the bridge; all stores of one scene are one file."""
        return _Store(self)

    @property
    def effects(self) -> list[str]:
        """Every effect so far, `pay 5` for example, in the order in which they took place."""
        return self._lines("effects")

    def hit(self, moment: str) -> None:
        """Note that this moment is there; if it is the one, kill this process."""
        self._append("moments", moment)
        if moment == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)

    async def until(self, moment: str) -> None:
        """Return once the moment has been there, in whatever process."""
        deadline = time.monotonic() + PATIENCE_S
        while moment not in self._lines("moments"):
            assert time.monotonic() < deadline, f"the moment {moment!r} never came"
            # Processes meet in the file: there is no event to wait for.
            await asyncio.sleep(_LOOK_EVERY_S)

    def _append(self, name: str, line: str) -> None:
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def _function(scene: Scene, name: str, part: Part) -> ToolFunction:
    async def body(amount: int) -> Any:
        scene._append("effects", f"{name} {amount}")  # noqa: SLF001 - one room
        scene.hit(f"body {name}")
        for moment in part.after:
            await scene.until(moment)
        scene.hit(f"end {name}")
        if part.raises:
            raise ValueError(part.raises)
        return f"{name} done" if part.gives is None else part.gives

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"Take the effect {name!r}."
    return body


class _Store(SQLiteCheckpointStore):
    """The store, which tells the scene before and after each record."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.folder / "records.db")
        self._scene = scene

    async def record_call(self, run_id: str, segment: int, call: CallRecord) -> None:
        self._scene.hit(f"before {call.tool} {call.state}")
        await super().record_call(run_id, segment, call)
        self._scene.hit(f"after {call.tool} {call.state}")

    async def claim_call(
        self,
        run_id: str,
        segment: int,
        call: CallRecord,
        seen: CallRecord | None,
        *,
        step: int | None = None,
    ) -> CallRecord:
        self._scene.hit(f"before {call.tool} {call.state}")
        standing = await super().claim_call(run_id, segment, call, seen, step=step)
        self._scene.hit(f"after {call.tool} {call.state}")
        return standing
