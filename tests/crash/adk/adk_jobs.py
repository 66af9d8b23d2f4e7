"""A job: one cell of the matrix, killed at its points, by several chains at a time; and its report."""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from adk_chains import Chain, Mode, list_points, run_chain
from adk_worker import Cell

AT_ONCE = os.cpu_count() or 1

Step = tuple[int | str, Mode]


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job: its points, and what every chain showed.

    `cell`: see `Cell`. `folder`: where runs are kept. `modes`: what happens after a kill; each
    point takes the next `depth` of them in turn. `sample`: kill at so many points, spread over the run. `kills`: kill at
    these numbers or names alone.
    """
    folder, modes, depth = Path(job["folder"]), job["modes"], job.get("depth", 1)
    cell = Cell(**job["cell"])
    kills, names, unharmed = list_points(cell, modes[0], folder / "unharmed")
    chosen = job.get("kills", _spread(kills, job.get("sample", len(kills))))
    if unharmed.bad:
        # What is bad without a kill says little about one.
        chosen = chosen[:1]
    steps: list[Step] = [
        (at, modes[(n * depth + d) % len(modes)])
        for n, at in enumerate(chosen)
        for d in range(min(depth, len(modes)))
    ]
    chains = _side_by_side(cell, steps, folder)
    verdicts = [chain["verdict"] for chain in chains]
    if not unharmed.bad:
        shutil.rmtree(folder / "unharmed")
    return {
        "points": len(names),
        "listed": names,
        "unharmed": unharmed.bad,
        "chains": len(chains),
        "kills": sum(chain["kills"] for chain in chains),
        "doubts": sum(verdict["doubts"] for verdict in verdicts),
        "turns_again": sum(verdict["turns_again"] for verdict in verdicts),
        "duplicates": sum(bool(verdict["duplicates"]) for verdict in verdicts),
        "bad": [
            {
                "kill": step,
                "point": chain["point"],
                "why": chain["verdict"]["bad"],
                "folder": str(folder / _name(n, step)),
            }
            for n, (step, chain) in enumerate(zip(steps, chains, strict=True))
            if chain["verdict"]["bad"]
        ],
    }


def _spread(kills: list[int | str], sample: int) -> list[int | str]:
    """So many of these, as far from each other and from both ends as they can be."""
    return [kills[(2 * n + 1) * len(kills) // (2 * sample)] for n in range(sample)]


def _name(n: int, step: Step) -> str:
    return f"{n}-{step[1]}"


def _side_by_side(cell: Cell, steps: Sequence[Step], folder: Path) -> list[dict[str, Any]]:
    """What each chain showed; every controller takes every n-th."""

    def chain(n: int) -> Chain:
        kill_at, mode = steps[n]
        place = folder / _name(n, steps[n])
        return run_chain(cell, mode, kill_at, place, unharmed=folder / "unharmed", seed=n)

    pids = []
    for share in range(AT_ONCE):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with (folder / f"share-{share}").open("w") as file:
                    for n in range(share, len(steps), AT_ONCE):
                        file.write(json.dumps(asdict(chain(n))) + "\n")
                        file.flush()
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids):
        raise RuntimeError(f"a controller failed; see {folder}")
    shares = [
        [json.loads(line) for line in (folder / f"share-{share}").read_text().splitlines()]
        for share in range(AT_ONCE)
    ]
    return [shares[n % AT_ONCE][n // AT_ONCE] for n in range(len(steps))]
