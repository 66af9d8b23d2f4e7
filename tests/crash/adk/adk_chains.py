"""One chain of an ADK run: workers are killed one after the other, others go on, and the run is judged."""

import asyncio
import faulthandler
import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adk_person import Mood
from adk_verdict import Verdict, judge
from adk_worker import AdkWorker, Cell
from loop_chains import ended, points_in
from loop_points import arm
from record import Record

# A worker that waits for ever is ended by its own alarm, after it said where it stands.
PATIENCE_S = 60
TRIES = 5

# `once`: one worker is killed and the next goes on. `twice`, `thrice`: those that go on are killed as well. `idle`: others
# take the run up before that, and nobody answers. `single`: one question is answered at a time. `plain`: the client takes
# the run up with `run_async(invocation_id=…)`. `rerun`, `respond`, `reject`: what the person says of a call in doubt.
Mode = Literal["once", "twice", "thrice", "idle", "single", "plain", "rerun", "respond", "reject"]
KILLS: dict[Mode, int] = {"twice": 2, "thrice": 3}
MOODS: dict[Mode, Mood] = {"rerun": "rerun", "respond": "respond", "reject": "reject"}
SERVER = "server "

Work = Callable[[AdkWorker], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Chain:
    """What one chain showed; `point` is where its first worker was killed."""

    point: str
    kills: int
    verdict: Verdict


def list_points(cell: Cell, mode: Mode, folder: Path) -> tuple[list[int | str], list[str], Verdict]:
    """The kills of a run that nobody kills, their names, and the verdict on it."""
    folder.mkdir(parents=True)
    code = _in_child(cell, mode, folder, AdkWorker.converse)
    names = points_in(folder)
    verdict = judge(Record(folder), cell, mode, kills=0, unharmed=Record(folder))
    verdict.bad.extend([f"the unharmed worker ended with {code}"] if code else [])
    kills: list[int | str] = []
    own = 0
    for name in names:
        own += not name.startswith(SERVER)
        kills.append(name if name.startswith(SERVER) else own)
    return kills, names, verdict


def run_chain(
    cell: Cell, mode: Mode, kill_at: int | str, folder: Path, *, unharmed: Path, seed: int
) -> Chain:
    """Kill a worker at point `kill_at`, let the run go on, and judge it; the folder stays when something is bad."""
    code = _victim(cell, mode, folder, kill_at)
    kills = int(code == -signal.SIGKILL)
    troubles = [] if kills else [f"the kill at {kill_at} did not fire, it ended with {code}"]
    passed = points_in(folder)
    chance = random.Random(f"{seed} {mode} {kill_at}")  # noqa: S311 - the same kills every time
    left = len(points_in(unharmed))
    for _ in range(KILLS.get(mode, 1) - 1):
        # Somewhere in what is left of the run, which is sometimes less than that.
        left = max(left - len(points_in(folder)), 1) + 2
        code = _in_child(cell, mode, folder, AdkWorker.converse, chance.randint(1, left))
        kills += code == -signal.SIGKILL
        troubles += [f"the next victim ended with {code}"] if code not in (0, -9) else []
    if mode == "idle":
        code = _in_child(cell, mode, folder, AdkWorker.poke)
        troubles += [f"a poke ended with {code}"] if code else []
    code = _in_child(cell, mode, folder, AdkWorker.converse)
    troubles += [f"the worker that went on ended with {code}"] if code else []
    # Whoever takes an ended run up again finds nothing to do.
    Record(folder).add("passes", what="over", events=0, error="", effects={}, turns=0)
    code = _in_child(cell, mode, folder, AdkWorker.converse)
    troubles += [f"the worker that came too late ended with {code}"] if code else []
    verdict = judge(Record(folder), cell, mode, kills=kills, unharmed=Record(unharmed))
    verdict.bad.extend(troubles)
    if verdict.bad:
        (folder / "verdict.json").write_text(json.dumps(verdict.bad, indent=1))
    else:
        shutil.rmtree(folder)
    return Chain(passed[-1] if passed else "", kills, verdict)


def _victim(cell: Cell, mode: Mode, folder: Path, kill_at: int | str) -> int:
    """The exit code of a worker that is killed at this point, in a folder of its own.

    Tasks that meet in another order than when the points were listed may pass fewer of them: such a run is thrown away, and
    another is killed at the last point.
    """
    folder.mkdir(parents=True)
    code = _in_child(cell, mode, folder, AdkWorker.converse, kill_at)
    for _ in range(TRIES):
        if code or isinstance(kill_at, str):
            break
        own = [name for name in points_in(folder) if not name.startswith(SERVER)]
        kill_at = min(kill_at, len(own))
        shutil.rmtree(folder)
        folder.mkdir()
        code = _in_child(cell, mode, folder, AdkWorker.converse, kill_at)
    return code


def _in_child(cell: Cell, mode: Mode, folder: Path, work: Work, kill_at: int | str = 0) -> int:
    """The exit code of a process of its own that did the work, minus the signal's number if one ended it."""
    points = folder / "points"
    points.unlink(missing_ok=True)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            errors = os.open(folder / "stderr", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.dup2(errors, 2)
            signal.alarm(PATIENCE_S)
            faulthandler.dump_traceback_later(PATIENCE_S - 2)
            arm(points, kill_at)
            worker = AdkWorker(
                cell,
                folder,
                mood=MOODS.get(mode, "honest"),
                one_by_one=mode == "single",
                plain=mode == "plain",
                kill_server_at=kill_at if isinstance(kill_at, str) else "",
            )
            asyncio.run(work(worker))
            code = 0
        except BaseException:  # noqa: BLE001 - a child never returns into its parent's code
            traceback.print_exc()
        finally:
            os._exit(code)
    return ended(pid)
