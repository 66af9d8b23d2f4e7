"""Workers that are processes of their own: they die at a place, freeze there, or race each other."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_S = 25

Process = subprocess.Popen[str]


class Workers:
    """Every worker of one file; whatever is left of them at the end is killed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun: list[Process] = []

    def begin(
        self, case: str, act: str, place: str = "", sent: signal.Signals = signal.SIGKILL
    ) -> Process:
        """A worker that is at it."""
        pipe = subprocess.PIPE
        job = [str(self._path), case, act, place, str(int(sent))]
        command = [sys.executable, "-m", "tests.rivals.worker", *job]
        worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        self._begun.append(worker)
        return worker

    def heard(self, worker: Process) -> Any:
        """What the worker says next."""
        assert worker.stdout is not None
        return json.loads(worker.stdout.readline())

    def killed(self, case: str, act: str, place: str) -> None:
        """Let a worker do this until SIGKILL meets it right after the place."""
        worker = self.begin(case, act, place)
        assert self.heard(worker) == {"status": "signal"}
        assert worker.wait(PATIENCE_S) == -signal.SIGKILL

    def frozen(self, case: str, act: str, place: str) -> Process:
        """A worker that SIGSTOP met right after the place."""
        worker = self.begin(case, act, place, signal.SIGSTOP)
        assert self.heard(worker) == {"status": "signal"}
        os.waitpid(worker.pid, os.WUNTRACED)
        return worker

    def thawed(self, worker: Process) -> Any:
        """What a frozen worker says once it goes on to its end."""
        worker.send_signal(signal.SIGCONT)
        said = self.heard(worker)
        assert worker.wait(PATIENCE_S) == 0
        return said

    def race(self, case: str, act: str, count: int) -> list[Any]:
        """What each of so many says, once all were ready and were let go at once."""
        workers = [self.begin(case, act) for _ in range(count)]
        assert [self.heard(worker) for worker in workers] == [{"status": "ready"}] * count
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        said = [self.heard(worker) for worker in workers]
        assert [worker.wait(PATIENCE_S) for worker in workers] == [0] * count
        return said

    def close(self) -> None:
        """End what is left."""
        for worker in self._begun:
            if worker.poll() is None:
                worker.kill()
            worker.communicate()
