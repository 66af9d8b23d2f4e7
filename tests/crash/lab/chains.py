"""One chain: a worker is killed at one point, others go on in processes of their own, and the run is judged."""

import faulthandler
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from passes import Cell, Start, Worker
from person import Mood, Style
from points import arm
from record import Record
from verdict import Verdict, judge

# A worker that waits for ever is ended by its own alarm, after it said where it stands.
PATIENCE_S = 40
POKES = 3
TRIES = 5

# `none`: invoke(None). `again`, `named`: the last answer is sent once more, as it was or with its question's id. `idle`:
# invoke(None) three times, and nobody answers. `twice`: the worker that goes on is killed as well. `fresh`: the job comes
# again, under a new thread.
Restart = Literal["none", "again", "named", "idle", "twice", "fresh"]


STARTS: dict[Restart, Start] = {
    "none": "none",
    "again": "again",
    "named": "named",
    "idle": "none",
    "twice": "none",
    "fresh": "input",
}


@dataclass(frozen=True)
class Mode:
    """How a run goes on after the kill."""

    restart: Restart = "none"
    style: Style = "id"
    mood: Mood = "honest"

    @property
    def name(self) -> str:
        return f"{self.restart}/{self.style}/{self.mood}"


@dataclass(frozen=True)
class Chain:
    """What one chain showed; `point` is where its first worker was killed."""

    point: str
    killed: bool
    verdict: Verdict


def list_points(cell: Cell, mode: Mode, folder: Path) -> tuple[list[str], Verdict]:
    """The points of a run that nobody kills, and the verdict on it."""
    folder.mkdir(parents=True)
    code = in_child(
        folder, 0, lambda: Worker(cell, folder, mood=mode.mood, style=mode.style).converse("input")
    )
    return _judged(
        folder, cell, mode, [] if code == 0 else [f"the unharmed worker ended with {code}"]
    )


def run_chain(cell: Cell, mode: Mode, kill_at: int | str, folder: Path) -> Chain:
    """Kill a worker at point `kill_at`, let the run go on, and judge it; the folder stays when something is bad."""

    def worker(thread: str = "t") -> Worker:
        return Worker(cell, folder, mood=mode.mood, style=mode.style, thread=thread)

    code = _victim(folder, kill_at, lambda: worker().converse("input"))
    killed = code == -signal.SIGKILL
    passed = _points(folder)
    troubles = (
        [] if killed else [f"the kill at {kill_at} did not fire, the worker ended with {code}"]
    )
    if mode.restart == "twice":
        # Another place in each chain, somewhere in what is left of the run.
        in_child(folder, len(passed) * 7 % 11 + 1, lambda: worker().converse("none"))
    for _ in range(POKES if mode.restart == "idle" else 0):
        code = in_child(folder, 0, lambda: worker().poke())
        troubles += [f"a poke ended with {code}"] if code else []
    start: Start = STARTS[mode.restart]
    thread = "t2" if mode.restart == "fresh" else "t"
    code = in_child(folder, 0, lambda: worker(thread).converse(start))
    troubles += [f"the worker that went on ended with {code}"] if code else []
    _, verdict = _judged(folder, cell, mode, troubles)
    if not verdict.bad:
        shutil.rmtree(folder)
    return Chain(passed[-1] if passed else "", killed, verdict)


def _victim(folder: Path, kill_at: int | str, work: Callable[[], None]) -> int:
    """The exit code of a worker that is killed at this point, in a folder of its own.

    Threads that meet in another order than when the points were listed pass fewer of them: such a run is thrown away, and
    another is killed at the last point.
    """
    folder.mkdir(parents=True)
    code = in_child(folder, kill_at, work)
    for _ in range(TRIES):
        if code or isinstance(kill_at, str):
            break
        kill_at = min(kill_at, len(_points(folder)))
        shutil.rmtree(folder)
        folder.mkdir()
        code = in_child(folder, kill_at, work)
    return code


def in_child(folder: Path, kill_at: int | str, work: Callable[[], None]) -> int:
    """The exit code of a process of its own that did the work, minus the signal's number if one ended it."""
    return ended(start_child(folder, kill_at, work))


def start_child(folder: Path, kill_at: int | str, work: Callable[[], None]) -> int:
    """The id of a process of its own that does the work and is killed at that point; 0 spares it."""
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
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - a child never returns into its parent's code
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """The exit code of a child once it has ended, minus the signal's number if one ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _points(folder: Path) -> list[str]:
    path = folder / "points"
    return path.read_text().splitlines() if path.exists() else []


def _judged(folder: Path, cell: Cell, mode: Mode, troubles: list[str]) -> tuple[list[str], Verdict]:
    verdict = judge(Record(folder), cell, mode.mood)
    verdict.bad.extend(troubles)
    return _points(folder), verdict
