"""The crash lab: reads one job as JSON a line, runs it in forked processes, and writes one line about it.

Everything is imported before the first fork, and nothing is made: no thread, loop or connection exists here. By hand, one
chain: `python tests/crash/lab '{"folder": "runs", "cell": {"scenario": "agent"}, "only": 17, "modes": [["idle", "id", "honest"]]}'`.
"""

import json
import sys
from collections.abc import Iterable

from jobs import run_job


def main(jobs: Iterable[str]) -> None:
    for job in jobs:
        sys.stdout.write(json.dumps(run_job(json.loads(job))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:] or iter(sys.stdin.readline, ""))
