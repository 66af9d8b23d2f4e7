"""Where a promise of bridges is played: each act is that of a new worker, in this process or in one that is killed."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_adapter.calls import ToolCall
from agent_adapter.testing._bridge_children import REFUSED, act_here, act_in_children
from agent_adapter.testing._bridge_scene import Part, Scene
from agent_adapter.testing._bridge_worker import MakeWorker, Outcome

# What a body waits for that ends only when it is told to.
LET_GO = "let go"


class Play:
    """A scene, act by act."""

    def __init__(self, make: MakeWorker, scene: Scene) -> None:
        self.scene = scene
        self._make = make

    @property
    def effects(self) -> list[str]:
        """Every effect so far."""
        return self.scene.effects

    async def start(self) -> Outcome:
        """The user's first message to a new worker."""
        return await act_here(self._make, self.scene, "start")

    async def resume(self) -> Outcome:
        """A new worker that goes on."""
        return await act_here(self._make, self.scene, "resume")

    async def answer(self, asked: Outcome, **said: Any) -> Outcome:
        """A new worker that is given these answers, each by the name of its call."""
        return await self.give(named(asked, **said))

    async def decide(self, asked: Outcome, **said: Any) -> tuple[Outcome, dict[str, Any]]:
        """Answers to all of these calls, each asked about once, together or one after the other; and what was asked."""
        outcome = asked
        was_asked: dict[str, Any] = {}
        while outcome.asked:
            now = shown(outcome)
            assert now.keys() <= said.keys() - was_asked.keys(), f"asked again: {now}"
            was_asked.update(now)
            outcome = await self.answer(outcome, **{call: said[call] for call in now})
        assert was_asked.keys() == said.keys()
        return outcome, was_asked

    async def give(self, answers: Mapping[str, Any]) -> Outcome:
        """A new worker that is given these answers, by the id of the question."""
        return await act_here(self._make, self.scene, "answer", answers)

    async def give_nothing_good(self, answers: Mapping[str, Any]) -> None:
        """The same with answers that decide nothing, and may be refused."""
        await self.may_be_refused("answer", answers)

    async def may_be_refused(self, act: str, *given: Any) -> Outcome | None:
        """The outcome of an act of a new worker; None where it was refused, in the framework's or the bridge's own way."""
        try:
            return await act_here(self._make, self.scene, act, *given)
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001 - how it is refused is the bridge's business, what stands then is ours
            return None

    async def killed(self, moment: str, act: str = "start", *given: Any) -> None:
        """A worker that is killed at this moment; a process of its own."""
        (code,) = await act_in_children(self._make, replace(self.scene, kill=moment), (act, *given))
        assert code == -signal.SIGKILL, f"{moment!r} was not reached: the worker ended with {code}"

    async def together(self, *acts: tuple[Any, ...]) -> None:
        """Workers that begin these acts at once, each in a process of its own; to be refused is no failure."""
        codes = await act_in_children(self._make, self.scene, *acts)
        assert set(codes) <= {0, REFUSED}, f"the workers ended with {codes}"

    @asynccontextmanager
    async def while_at(self, moment: str, act: str = "start", *given: Any) -> AsyncIterator[None]:
        """What happens while a worker of another process is at a moment; afterwards `LET_GO` comes, and it ends."""
        working = asyncio.create_task(act_in_children(self._make, self.scene, (act, *given)))
        try:
            await self.scene.until(moment)
            yield
        finally:
            self.scene.hit(LET_GO)
            codes = await working
        assert codes == [0]


class Stage:
    """What a promise of bridges takes: how a worker is made, and a folder that is empty.

    Args:
        worker: makes a worker of a scene: a class or function that other processes can import by its name.
        folder: where the scenes are played.
    """

    def __init__(self, worker: MakeWorker, folder: str | Path) -> None:
        self._worker = worker
        self._folder = Path(folder)
        self._plays = 0

    def play(self, *turns: tuple[ToolCall, ...], **parts: Part) -> Play:
        """A play that has not begun, in a folder of its own; tools that it says nothing of are plain ones."""
        self._plays += 1
        folder = self._folder / f"play-{self._plays}"
        folder.mkdir(parents=True)
        names = {call.name for turn in turns for call in turn}
        return Play(self._worker, Scene(folder, turns, {**dict.fromkeys(names, Part()), **parts}))


def calls(**asked: tuple[str, int]) -> tuple[ToolCall, ...]:
    """One turn of a plan: the tool and the amount of each call, by the call's name."""
    return tuple(ToolCall(name, tool, {"amount": n}) for name, (tool, n) in asked.items())


def named(outcome: Outcome, **said: Any) -> dict[str, Any]:
    """Answers by the id of the question, from answers by the name of the call."""
    ids = {each.call: each.id for each in outcome.asked}
    assert said.keys() <= ids.keys(), f"asked about {sorted(ids)}, not about {sorted(said)}"
    return {ids[call]: answer for call, answer in said.items()}


def shown(outcome: Outcome) -> dict[str, tuple[str, Mapping[str, Any], str]]:
    """What is asked: tool, arguments and cause, by the name of the call."""
    return {each.call: (each.tool, each.arguments, each.cause) for each in outcome.asked}
