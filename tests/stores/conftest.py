"""Worker processes for the store tests."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("worker.py")


class Worker:
    """A running `worker.py`: `hear` a line of JSON, let it `go` on, `kill` it."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the worker ended with {self.process.wait()}"
        return json.loads(line)

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.kill()


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    """Start a worker on a task; whatever still runs at the end of the test is killed."""
    workers: list[Worker] = []

    def start(*arguments: object) -> Worker:
        workers.append(Worker(*arguments))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()
