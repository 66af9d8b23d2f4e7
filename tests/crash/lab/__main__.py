"""The crash lab: reads one job (or race) as JSON a line, runs it in forked processes, and writes one line about it.

Everything is imported before the first fork, and nothing is made: no thread, loop or connection exists here. One chain by
hand (a scenario, the kill, what comes after it):

    python tests/crash/lab '{"folder": "runs", "cell": {"scenario": "agent"}, "kills": [17],
                             "modes": [["idle", "id", "honest"]]}'
"""

import gc
import json
import sys
from collections.abc import Iterable

from jobs import run_job
from races import run_race


def main(jobs: Iterable[str]) -> None:
    # What is here stays: the collector of a child has no reason to touch, and so to copy, these pages.
    gc.freeze()
    for job in jobs:
        asked = json.loads(job)
        report = run_race(asked) if "moods" in asked else run_job(asked)
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:] or iter(sys.stdin.readline, ""))
