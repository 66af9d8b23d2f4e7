"""The crash lab of loops: runs the job that it is given as JSON in forked processes, and writes one line about it.

Everything is imported before the first fork, and nothing is made: no thread, loop or connection exists here. One chain by
hand (a scenario, the kill, what comes after it):

    python tests/crash/lab/loop_lab.py '{"folder": "runs", "scenario": "agents", "kills": [17], "modes": ["idle"]}'
"""

import gc
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loop_chains import Chain, Mode, run_chain, run_unharmed
from loop_races import run_freezes, run_race, run_relay

# Each worker process also waits for the disk and for others, so one more than cores is of use.
AT_ONCE = (os.cpu_count() or 1) + 1

Step = tuple[int | str, Mode]


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job: its points, and what every chain showed.

    `scenario`: see `SCENARIOS`. `folder`: where runs are kept. `modes`: what happens after a kill; each point takes the
    next `depth` of them in turn. `stride`: kill at every n-th point. `kills`: kill at these numbers or names alone.
    """
    folder, modes, depth = Path(job["folder"]), job["modes"], job.get("depth", 1)
    listed, unharmed = run_unharmed(job["scenario"], folder / "unharmed")
    first = job.get("first", 1)
    kills = job.get("kills", range(first, len(listed) + 1, job.get("stride", 1)))
    steps: list[Step] = [
        (at, modes[(n * depth + d) % len(modes)])
        for n, at in enumerate(kills)
        for d in range(min(depth, len(modes)))
    ]
    chains = _side_by_side(job["scenario"], steps, folder)
    verdicts = [chain["verdict"] for chain in chains]
    return {
        "points": len(listed),
        "listed": listed,
        "unharmed": unharmed.bad,
        "chains": len(chains),
        "kills": sum(chain["kills"] for chain in chains),
        "doubts": sum(verdict["doubts"] for verdict in verdicts),
        "turns_again": sum(verdict["turns_again"] for verdict in verdicts),
        "duplicates": sum(bool(verdict["duplicates"]) for verdict in verdicts),
        "bad": [
            {"kill": step, "point": chain["point"], "why": chain["verdict"]["bad"]}
            for step, chain in zip(steps, chains, strict=True)
            if chain["verdict"]["bad"]
        ],
    }


def _side_by_side(scenario: str, steps: Sequence[Step], folder: Path) -> list[dict[str, Any]]:
    """What each chain showed; every controller takes every n-th."""

    def chain(n: int) -> Chain:
        kill_at, mode = steps[n]
        return run_chain(
            scenario, mode, kill_at, folder / f"{n}-{mode}", unharmed=folder / "unharmed", seed=n
        )

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


def main(job: Mapping[str, Any]) -> None:
    # What is here stays: the collector of a child has no reason to touch, and so to copy, these pages.
    gc.freeze()
    kinds = {"kill": run_job, "race": run_race, "freeze": run_freezes, "relay": run_relay}
    report = kinds[job.get("kind", "kill")](job)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
