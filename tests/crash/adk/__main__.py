"""The crash lab of the ADK bridge: reads jobs as JSON, runs each in forked processes, and writes one line about it.

Everything is imported before the first fork, and nothing is made: no thread, loop or connection exists here. One chain by
hand (a scenario, the kill by its number or name, what comes after it), and what its session and its record hold:

    python tests/crash/adk '{"folder": "runs", "cell": {"scenario": "parallel"}, "kills": [7], "modes": ["twice"]}'
    python tests/crash/adk show runs/0-twice
"""

import asyncio
import gc
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1] / "lab"))
# Of every process the same, and of none what this is about.
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
os.environ.setdefault("OTEL_SDK_DISABLED", "true")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["show"]:
        from adk_show import show

        asyncio.run(show(Path(arguments[1])))
        return
    from adk_jobs import run_job

    jobs: Iterable[str] = arguments or iter(sys.stdin.readline, "")
    # What is here stays: the collector of a child has no reason to touch, and so to copy, these pages.
    gc.freeze()
    for job in jobs:
        sys.stdout.write(json.dumps(run_job(json.loads(job))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
