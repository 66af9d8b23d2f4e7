"""Approvals in a loop over several processes: one parks and exits, one decides, and another one goes on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("approvals_worker.py")


def begin(task: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, SCRIPT, task, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: "subprocess.Popen[str]", word: str = "") -> Any:
    """What the process said last, once it has ended by itself."""
    said, _ = process.communicate(word, timeout=25)
    assert process.returncode == 0
    return json.loads(said.splitlines()[-1]) if said else None


def effects(path: Path) -> list[str]:
    """What happened, without who did it."""
    return [
        line.rpartition(" ")[0] for line in path.with_suffix(".effects").read_text().splitlines()
    ]


def asked(path: Path) -> list[str]:
    lines = path.with_suffix(".models").read_text().splitlines()
    return [line.rpartition(" ")[0] for line in lines]


def test_a_run_goes_on_in_another_process_after_a_third_one_decided(tmp_path: Path):
    """Item 113: calls of an agent and of the loop wait in one file; each body ran once, and no turn was planned twice."""
    path = tmp_path / "runs.db"
    first = end(begin("run", path))
    assert first["status"] == "paused"
    assert sorted(arguments["to"] for _, _, arguments, _ in first["pending"]) == [
        "inside",
        "outside",
    ]
    assert {run for *_, run in first["pending"]} == {"run-1"}
    again = end(begin("recover", path))
    assert (again["status"], again["pending"]) == ("paused", first["pending"])
    assert effects(path) == ["charge 5"]
    assert asked(path) == ["outer", "inner"]
    end(begin("decide", path))
    done = end(begin("recover", path))
    assert (done["status"], done["texts"][2:]) == (
        "done",
        ["helped", "ToolDenied: denied by ann: so be it", "done"],
    )
    assert effects(path) == ["charge 5", "mail inside"]
    assert asked(path) == ["outer", "inner", "inner", "outer"]


def test_of_processes_that_recover_at_once_one_goes_on(tmp_path: Path):
    """Items 97, 115: the body runs once, and the others are told that they lost."""
    path = tmp_path / "runs.db"
    end(begin("run", path))
    end(begin("decide", path))
    racers = [begin("race", path) for _ in range(3)]
    for racer in racers:
        assert racer.stdout is not None
        assert json.loads(racer.stdout.readline()) == "ready"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ends = [end(racer) for racer in racers]
    assert sorted(said["status"] for said in ends) == ["done", "lost", "lost"]
    assert effects(path) == ["charge 5", "mail inside"]
