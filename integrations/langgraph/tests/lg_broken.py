"""Workers of bridges that break a promise each, for the published contract to find."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lg_rig import NodeWorker
from lg_scripted import bare_app

from agent_adapter import ToolPolicy
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter.testing.bridges import Outcome, Scene
from agent_adapter_langgraph import DurableTools


class Bare(NodeWorker):
    """No bridge at all."""

    def _app(self, saver: Any) -> Any:
        return bare_app("node", self._chat(), self._tools(), saver)


class Forgetful(NodeWorker):
    """Its records go with its process."""

    def _durable(self) -> DurableTools:
        return DurableTools(MemoryCheckpointStore(), policies=self._scene.policies)


class Careless(NodeWorker):
    """Every tool may run twice."""

    def __init__(self, scene: Scene) -> None:
        policies = {
            name: replace(part, policy=replace(part.policy, idempotent=True))
            for name, part in scene.parts.items()
        }
        super().__init__(replace(scene, parts=policies))


class Ungated(NodeWorker):
    """Nobody approves anything."""

    def _durable(self) -> DurableTools:
        policies = dict.fromkeys(self._scene.policies, ToolPolicy())
        return DurableTools(self._scene.store(), policies=policies)


class Credulous(NodeWorker):
    """Every answer is a yes."""

    async def answer(self, given: Mapping[str, Any]) -> Outcome:
        return await super().answer(dict.fromkeys(given, "approve"))


class Hasty(NodeWorker):
    """Every answer is for whatever is open."""

    async def answer(self, given: Mapping[str, Any]) -> Outcome:
        said = list(given.values())
        asked = [each.id for each in (await self.resume()).asked]
        return await super().answer(dict(zip(asked, said, strict=False)))


class Reworded(NodeWorker):
    """A tool's text is another one each time it is told."""

    async def resume(self) -> Outcome:
        outcome = await super().resume()
        return replace(outcome, told={call: f" {text}" for call, text in outcome.told.items()})
