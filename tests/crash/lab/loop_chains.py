"""One chain of a loop: workers are killed one after the other, others go on, and the run is judged."""

import asyncio
import faulthandler
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

from loop_points import arm
from loop_verdict import Verdict, judge
from loop_worker import LoopWorker, Mood
from record import Record

# A worker that waits for ever is ended by its own alarm, after it said where it stands.
PATIENCE_S = 40
TRIES = 5

# `once`: one worker is killed and the next goes on. `stop`: it is interrupted instead, as by Ctrl-C. `idle`: before that
# others recover and nobody decides. `early`: the person decides whatever is parked before anybody goes on. `twice`,
# `thrice`: those that go on are killed as well. `refuse`: the person lets no call in doubt run. `bare`: the loop has no
# checkpoints, and starts again from its beginning.
Mode = Literal["once", "stop", "idle", "early", "twice", "thrice", "refuse", "bare"]
KILLS: dict[Mode, int] = {"twice": 2, "thrice": 3}

Work = Callable[[LoopWorker], Coroutine[Any, Any, Any]]
BETWEEN: dict[Mode, Work] = {"idle": LoopWorker.poke, "early": LoopWorker.approve_all}


@dataclass(frozen=True)
class Chain:
    """What one chain showed; `point` is where its first worker was killed."""

    point: str
    kills: int
    verdict: Verdict


def run_unharmed(scenario: str, folder: Path) -> tuple[list[str], Verdict]:
    """The points of a run that nobody kills, and the verdict on it."""
    folder.mkdir(parents=True)
    code = in_child(folder, scenario, LoopWorker.converse)
    record = Record(folder)
    verdict = judge(record, scenario, "once", kills=0, unharmed=record)
    verdict.bad.extend([f"the unharmed worker ended with {code}"] if code else [])
    return points_in(folder), verdict


def run_chain(
    scenario: str, mode: Mode, kill_at: int | str, folder: Path, *, unharmed: Path, seed: int
) -> Chain:
    """Kill a worker at point `kill_at`, let the run go on, and judge it; the folder stays when something is bad."""
    mood: Mood = "refuse" if mode == "refuse" else "honest"
    work: Work = LoopWorker.unprotected if mode == "bare" else LoopWorker.converse
    left = len(points_in(unharmed))
    code = _victim(folder, scenario, work, kill_at, stops=mode == "stop")
    # An interrupted worker ends with what it had begun, or is through.
    kills = int(code in (0, 1) if mode == "stop" else code == -signal.SIGKILL)
    troubles = [] if kills else [f"the kill at {kill_at} did not fire, it ended with {code}"]
    passed = points_in(folder)
    chance = random.Random(f"{seed} {mode} {kill_at}")  # noqa: S311 - the same kills every time
    for _ in range(KILLS.get(mode, 1) - 1):
        # Somewhere in what is left of the run, which is sometimes less than that.
        left = max(left - len(points_in(folder)), 1) + 2
        code = in_child(folder, scenario, work, chance.randint(1, left))
        kills += code == -signal.SIGKILL
        troubles += [f"the next victim ended with {code}"] if code not in (0, -9) else []
    if between := BETWEEN.get(mode):
        code = in_child(folder, scenario, between)
        troubles += [f"what came before the next worker ended with {code}"] if code else []
    code = in_child(folder, scenario, work, mood=mood)
    troubles += [f"the worker that went on ended with {code}"] if code else []
    verdict = judge(Record(folder), scenario, mode, kills=kills, unharmed=Record(unharmed))
    verdict.bad.extend(troubles)
    if not verdict.bad:
        shutil.rmtree(folder)
    return Chain(passed[-1] if passed else "", kills, verdict)


def _victim(folder: Path, scenario: str, work: Work, kill_at: int | str, *, stops: bool) -> int:
    """The exit code of a worker that is killed at this point, in a folder of its own.

    Threads that meet in another order than when the points were listed may pass fewer of them: such a run is thrown away,
    and another is killed at the last point.
    """
    sent = signal.SIGINT if stops else signal.SIGKILL
    folder.mkdir(parents=True)
    code = ended(start_child(folder, scenario, work, kill_at, sent=sent))
    for _ in range(TRIES):
        if code or stops or isinstance(kill_at, str):
            break
        kill_at = min(kill_at, len(points_in(folder)))
        shutil.rmtree(folder)
        folder.mkdir()
        code = in_child(folder, scenario, work, kill_at)
    return code


def in_child(
    folder: Path, scenario: str, work: Work, *kill_at: int | str, mood: Mood = "honest"
) -> int:
    """The exit code of a process of its own that did the work, minus the signal's number if one ended it."""
    return ended(start_child(folder, scenario, work, *kill_at, mood=mood))


def start_child(
    folder: Path,
    scenario: str,
    work: Work,
    *at: int | str,
    mood: Mood = "honest",
    sent: signal.Signals = signal.SIGKILL,
    ready: Callable[[], Any] = lambda: None,
) -> int:
    """The id of a process of its own that does the work once it is ready, and gets the signal at these points."""
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
            arm(points, *at, sent=sent)
            worker = LoopWorker(scenario, folder, mood=mood)
            ready()
            asyncio.run(work(worker))
            code = 0
        except BaseException:  # noqa: BLE001 - a child never returns into its parent's code
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """The exit code of a child once it has ended, minus the signal's number if one ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def points_in(folder: Path) -> list[str]:
    """The points that the last worker passed."""
    path = folder / "points"
    return path.read_text().splitlines() if path.exists() else []
