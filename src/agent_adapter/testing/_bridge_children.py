"""Acts of workers: in this process, and in processes of their own, which may be killed."""

import asyncio
import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent_adapter.testing._bridge_scene import PATIENCE_S, Scene
from agent_adapter.testing._bridge_worker import MakeWorker, Outcome

# A worker whose act was refused: it ends with this code where that is to be expected.
REFUSED = 3


async def act_here(make: MakeWorker, scene: Scene, act: str, *given: Any) -> Outcome:
    """The outcome of one act of a new worker, calls by their names in the plan."""
    worker = make(scene)
    try:
        outcome: Outcome = await getattr(worker, act)(*given)
    finally:
        await worker.close()
    for ids in (outcome.told, [each.call for each in outcome.asked]):
        names = Counter(_name(call) for call in ids)
        assert max(names.values(), default=1) == 1, f"planned or asked about twice: {list(ids)}"
    return replace(
        outcome,
        asked=tuple(replace(each, call=_name(each.call)) for each in outcome.asked),
        told={_name(call): text for call, text in outcome.told.items()},
    )


async def act_in_children(make: MakeWorker, scene: Scene, *acts: Sequence[Any]) -> list[int | None]:
    """The exit codes of processes that do one act each, all at once; one that does not end is killed."""
    # A fork of a clean process: none of this one's threads and loops, and quicker than a start from nothing.
    processes = multiprocessing.get_context("forkserver")
    gate = processes.Barrier(len(acts)) if len(acts) > 1 else None
    children = [
        processes.Process(target=_play, args=(make, scene, act, given, gate))
        for act, *given in acts
    ]
    try:
        for child in children:
            child.start()
        for child in children:
            await asyncio.to_thread(child.join, PATIENCE_S)
        return [child.exitcode for child in children]
    finally:
        for child in children:
            if child.pid is not None:
                child.kill()
                child.join()
            child.close()


def _name(call: str) -> str:
    """The call's name in the plan; what follows was made by the model."""
    return call.partition(".")[0]


def _play(make: MakeWorker, scene: Scene, act: str, given: list[Any], gate: Any) -> None:
    """In a child process: one act of one worker, once all are there."""
    if gate is not None:
        gate.wait(PATIENCE_S)
    try:
        asyncio.run(act_here(make, scene, act, *given))
    except Exception as error:
        if gate is None or isinstance(error, AssertionError):
            raise
        sys.exit(REFUSED)
