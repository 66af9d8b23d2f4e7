"""A job: one cell of the matrix, killed at its points, by several chains at a time; and its report."""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from chains import Mode, list_points, run_chain
from passes import Cell
from record import Record

# Each worker process also waits for the disk and for others, so one more than cores is of use.
AT_ONCE = (os.cpu_count() or 1) + 1


class Step(NamedTuple):
    """One chain to run."""

    kill_at: int | str
    mode: Mode
    folder: str


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job: its points, and what every chain showed.

    `cell`: see `Cell`. `folder`: where runs are kept. `modes`: what happens after a kill; each point takes the next
    `depth` of them in turn. `stride`: kill at every n-th point. `kills`: kill at these numbers or names alone.
    """
    cell, folder = Cell(**job["cell"]), Path(job["folder"])
    modes = [Mode(*mode) for mode in job["modes"]]
    listed, unharmed = list_points(cell, modes[0], folder / "unharmed")
    plan = _plan(job, len(listed), modes)
    chains = list(zip(plan, _side_by_side(cell, plan, folder), strict=True))
    record = Record(folder / "unharmed")
    return {
        "points": len(listed),
        "unharmed": {
            "bad": unharmed.bad,
            "effects": record.effects(),
            "error": record.read("passes")[-1]["error"],
        },
        "hit": dict(Counter(chain["point"] for _, chain in chains)),
        "chains": len(chains),
        "kills": sum(chain["killed"] for _, chain in chains),
        "doubts": sum(chain["verdict"]["doubts"] for _, chain in chains),
        "duplicates": sum(bool(chain["verdict"]["duplicates"]) for _, chain in chains),
        "turns_again": sum(chain["verdict"]["turns_again"] for _, chain in chains),
        "bad": [
            {
                "point": chain["point"],
                "mode": step.mode.name,
                "why": chain["verdict"]["bad"],
                "folder": step.folder,
            }
            for step, chain in chains
            if chain["verdict"]["bad"]
        ],
    }


def _plan(job: Mapping[str, Any], points: int, modes: Sequence[Mode]) -> list[Step]:
    depth = min(job.get("depth", 1), len(modes))
    kills = job.get("kills", range(1, points + 1, job.get("stride", 1)))
    return [
        Step(at, mode, f"{job['folder']}/{n}-{mode.name.replace('/', '-')}")
        for n, at in enumerate(kills)
        for mode in (modes[(n * depth + d) % len(modes)] for d in range(depth))
    ]


def _side_by_side(cell: Cell, plan: Sequence[Step], folder: Path) -> list[dict[str, Any]]:
    """What each chain showed; every controller takes every n-th."""
    pids = []
    for share in range(AT_ONCE):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _run_share(cell, plan[share::AT_ONCE], folder / f"share-{share}")
        pids.append(pid)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids):
        raise RuntimeError(f"a controller failed; see {folder}")
    shares = [
        [json.loads(line) for line in (folder / f"share-{share}").read_text().splitlines()]
        for share in range(AT_ONCE)
    ]
    return [shares[n % AT_ONCE][n // AT_ONCE] for n in range(len(plan))]


def _run_share(cell: Cell, plan: Sequence[Step], report: Path) -> None:
    """Run these chains in this process, and end it."""
    code = 1
    try:
        with report.open("w") as file:
            for step in plan:
                chain = run_chain(cell, step.mode, step.kill_at, Path(step.folder))
                file.write(json.dumps(asdict(chain)) + "\n")
        code = 0
    finally:
        os._exit(code)
