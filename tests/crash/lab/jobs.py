"""A job: one cell of the matrix, killed at its points, by several chains at a time; and its report."""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chains import Chain, Mode, list_points, run_chain
from passes import Cell

# Each worker process mostly waits for the disk, so a few more than cores are of use.
AT_ONCE = 3


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job: its points, and what every chain showed.

    `cell`: see `Cell`. `folder`: where runs are kept. `modes`: what to do after a kill; `every` chain of each point does
    one of them in turn, unless `all_modes`. `stride`: kill at every n-th point. `only`: kill at this one.
    """
    cell, folder = Cell(**job["cell"]), Path(job["folder"])
    modes = [Mode(*mode) for mode in job["modes"]]
    listed, unharmed = list_points(cell, modes[0], folder / "unharmed")
    plan = _plan(job, len(listed), modes)
    chains = _side_by_side(cell, plan, folder)
    bad = [{"point": "none", "mode": "unharmed", "why": unharmed.bad, "folder": str(folder)}] if unharmed.bad else []
    bad += [
        {"kill_at": at, "point": chain["point"], "mode": mode.name, "why": chain["verdict"]["bad"], "folder": where}
        for (at, mode, where), chain in chains
        if chain["verdict"]["bad"]
    ]
    return {
        "points": len(listed),
        "kinds": dict(Counter(chain["point"] for _, chain in chains)),
        "kills": sum(chain["killed"] for _, chain in chains),
        "doubts": sum(chain["verdict"]["doubts"] for _, chain in chains),
        "duplicates": sum(bool(chain["verdict"]["duplicates"]) for _, chain in chains),
        "turns_again": sum(chain["verdict"]["turns_again"] for _, chain in chains),
        "bad": bad,
    }


def _plan(job: Mapping[str, Any], points: int, modes: Sequence[Mode]) -> list[tuple[int, Mode, str]]:
    kills = [job["only"]] if "only" in job else range(1, points + 1, job.get("stride", 1))
    plan = []
    for n, at in enumerate(kills):
        chosen = modes if job.get("all_modes") else [modes[n % len(modes)]]
        plan += [(at, mode, f"{job['folder']}/{at}-{mode.name.replace('/', '-')}") for mode in chosen]
    return plan


def _side_by_side(
    cell: Cell, plan: Sequence[tuple[int, Mode, str]], folder: Path
) -> list[tuple[tuple[int, Mode, str], dict[str, Any]]]:
    pids = []
    for share in range(AT_ONCE):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _share(cell, plan, share, folder)
        pids.append(pid)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids):
        raise RuntimeError(f"a controller failed; see {folder}")
    shares = [
        [json.loads(line) for line in (folder / f"share-{share}").read_text().splitlines()]
        for share in range(AT_ONCE)
    ]
    return [(step, shares[n % AT_ONCE][n // AT_ONCE]) for n, step in enumerate(plan)]


def _share(cell: Cell, plan: Sequence[tuple[int, Mode, str]], share: int, folder: Path) -> None:
    """Run every n-th chain in this process, and end it."""
    code = 1
    try:
        with (folder / f"share-{share}").open("w") as file:
            for at, mode, where in plan[share::AT_ONCE]:
                chain: Chain = run_chain(cell, mode, at, Path(where))
                file.write(json.dumps(asdict(chain)) + "\n")
        code = 0
    finally:
        os._exit(code)
