"""Kills an agent in the middle of a turn and starts it again, with and without agent-adapter; counts the effects.

Needs no key and no network: `python demo.py` for LangGraph, `python demo.py adk` for Google ADK. The exit code is 0 when
what is promised was seen, else 1.
"""

import json
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from effects import NAMES, seen

STORY = """\
One turn asks for three calls: charge, mail, book. The process is killed (SIGKILL) when the charge took
effect and has not returned; mail and book are finished by then. A new process goes on with the {}.
"""
HERE = Path(__file__).parent
# By framework: one process of its agent, and its word for what a new process goes on with.
WORKERS = {"langgraph": ("worker.py", "thread"), "adk": ("adk_worker.py", "invocation")}
# Long enough for the two calls beside the charge to come to their end.
SETTLE_S = 2.0
GIVE_UP_S = 100.0
ANSWER = {"type": "respond", "message": "it happened: charged Ada 500 cents"}


def main(framework: str) -> int:
    """0 when each effect of the durable agent happened once, and each of the bare agent's twice; else 1."""
    file, what = WORKERS[framework]
    print(STORY.format(what))
    worker = HERE / file
    with tempfile.TemporaryDirectory() as folder:
        bare, durable = Path(folder, "bare"), Path(folder, "durable")
        with ThreadPoolExecutor() as both:
            _, stopped = both.map(_kill_and_resume, (worker, worker), (bare, durable))
        _print_table(_counts(bare), _counts(durable))
        ((question, lines),) = stopped["questions"].items()
        print(f"\nThe durable agent waits for a person:\n{_wrapped(lines)}")
        print(f"\nThe answer, given to a third process:\n  {json.dumps(ANSWER)}")
        ended = _run(worker, durable, json.dumps({question: ANSWER}))
        print(f"\nThe end:\n  {ended['said']}")
        doubled, single = _counts(bare), _counts(durable)
    print(f"\nEffects with agent-adapter, after the end: {single}")
    expected = (dict.fromkeys(NAMES, 2), dict.fromkeys(NAMES, 1))
    return 0 if (doubled, single) == expected else 1


def _kill_and_resume(worker: Path, folder: Path) -> dict[str, Any]:
    """How the agent's second process ended."""
    folder.mkdir()
    command = _command(worker, folder, "start")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        give_up = time.monotonic() + GIVE_UP_S
        while len(seen(folder)) < len(NAMES):
            if process.poll() is not None or time.monotonic() > give_up:
                process.kill()
                raise SystemExit(
                    f"{folder.name}: no charge to interrupt: {process.communicate()[1]}"
                )
            time.sleep(0.05)
        time.sleep(SETTLE_S)
        process.kill()  # SIGKILL
    return _run(worker, folder, "resume")


def _run(worker: Path, folder: Path, what: str) -> dict[str, Any]:
    """How a process of the agent ended."""
    command = _command(worker, folder, what)
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=GIVE_UP_S)
    if ran.returncode != 0:
        raise SystemExit(f"{folder.name}: the agent failed: {ran.stderr}")
    ended: dict[str, Any] = json.loads(ran.stdout)
    return ended


def _command(worker: Path, folder: Path, what: str) -> list[str]:
    return [sys.executable, str(worker), str(folder), folder.name, what]


def _counts(folder: Path) -> dict[str, int]:
    effects = seen(folder)
    return {name: effects.count(name) for name in NAMES}


def _print_table(bare: dict[str, int], durable: dict[str, int]) -> None:
    print("tool    effects without  effects with")
    for name in NAMES:
        print(f"{name:<8}{bare[name]:<17}{durable[name]}")


def _wrapped(lines: Sequence[str]) -> str:
    return "\n".join(textwrap.indent(textwrap.fill(line, 96), "  ") for line in lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["langgraph"]))
