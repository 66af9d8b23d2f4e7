"""The types that authors of bridges rely on: mypy reads this file together with the packages, nothing runs it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, assert_type

from agent_adapter import ToolCall, ToolPolicy
from agent_adapter.exec.checkpoints import CheckpointStore
from agent_adapter.testing.bridges import (
    BRIDGE,
    AskedCall,
    BridgeWorker,
    Outcome,
    Part,
    Scene,
    Stage,
)

assert_type(BRIDGE, tuple[Callable[[Stage], Awaitable[None]], ...])


class Worker:
    def __init__(self, scene: Scene) -> None:
        self.store: CheckpointStore = scene.store()
        self.policies: Mapping[str, ToolPolicy] = scene.policies
        assert_type(scene.reply(0), tuple[ToolCall, ...])
        assert_type(scene.folder, Path)

    async def start(self) -> Outcome:
        return Outcome()

    async def resume(self) -> Outcome:
        asked = AskedCall(id="q", call="c1", tool="pay", arguments={"amount": 5}, cause="died")
        return Outcome((asked,), {"c0": "done"}, over=False)

    async def answer(self, answers: Mapping[str, Any]) -> Outcome:
        return Outcome(told=dict.fromkeys(answers, "done"), over=True)

    async def close(self) -> None: ...


async def play(folder: Path) -> None:
    worker: BridgeWorker = Worker(Scene(folder, (), {"pay": Part(ToolPolicy(confirm=True))}))
    assert_type(await worker.resume(), Outcome)
    for promise in BRIDGE:
        await promise(Stage(Worker, folder))
