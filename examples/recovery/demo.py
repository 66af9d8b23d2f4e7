"""Kills an agent in the middle of a turn and starts it again, with and without agent-adapter; counts the effects.

Needs no key and no network: `python demo.py`. The exit code is 0 when what is promised was seen, else 1.
"""

import json
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from effects import NAMES, seen

STORY = """\
One turn asks for three calls: charge, mail, book. The process is killed (SIGKILL) when the charge took
effect and has not returned; mail and book are finished by then. A new process goes on with the thread.
"""
WORKER = Path(__file__).with_name("worker.py")
# Long enough for the two calls beside the charge to come to their end.
SETTLE_S = 2.0
GIVE_UP_S = 100.0
ANSWER = {"type": "respond", "message": "it happened: charged Ada 500 cents"}


def main() -> int:
    """0 when each effect of the durable agent happened once, and each of the bare agent's twice; else 1."""
    print(STORY)
    with tempfile.TemporaryDirectory() as folder:
        bare, durable = Path(folder, "bare"), Path(folder, "durable")
        with ThreadPoolExecutor() as both:
            _, stopped = both.map(_kill_and_resume, (bare, durable))
        _print_table(_counts(bare), _counts(durable))
        ((question, payload),) = stopped["questions"].items()
        print(f"\nThe durable agent waits for a person:\n{_shown(payload)}")
        print(f"\nThe answer, given to a third process:\n  {json.dumps(ANSWER)}")
        ended = _run(durable, json.dumps({question: ANSWER}))
        print(f"\nThe end:\n  {ended['said']}")
        doubled, single = _counts(bare), _counts(durable)
    print(f"\nEffects with agent-adapter, after the end: {single}")
    expected = (dict.fromkeys(NAMES, 2), dict.fromkeys(NAMES, 1))
    return 0 if (doubled, single) == expected else 1


def _kill_and_resume(folder: Path) -> dict[str, Any]:
    """How the agent's second process ended."""
    folder.mkdir()
    with subprocess.Popen(_command(folder, "start"), stderr=subprocess.PIPE, text=True) as worker:
        give_up = time.monotonic() + GIVE_UP_S
        while len(seen(folder)) < len(NAMES):
            if worker.poll() is not None or time.monotonic() > give_up:
                worker.kill()
                raise SystemExit(
                    f"{folder.name}: no charge to interrupt: {worker.communicate()[1]}"
                )
            time.sleep(0.05)
        time.sleep(SETTLE_S)
        worker.kill()  # SIGKILL
    return _run(folder, "resume")


def _run(folder: Path, what: str) -> dict[str, Any]:
    """How a process of the agent ended."""
    command = _command(folder, what)
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=GIVE_UP_S)
    if ran.returncode != 0:
        raise SystemExit(f"{folder.name}: the agent failed: {ran.stderr}")
    ended: dict[str, Any] = json.loads(ran.stdout)
    return ended


def _command(folder: Path, what: str) -> list[str]:
    return [sys.executable, str(WORKER), str(folder), folder.name, what]


def _counts(folder: Path) -> dict[str, int]:
    effects = seen(folder)
    return {name: effects.count(name) for name in NAMES}


def _print_table(bare: dict[str, int], durable: dict[str, int]) -> None:
    print("tool    effects without  effects with")
    for name in NAMES:
        print(f"{name:<8}{bare[name]:<17}{durable[name]}")


def _shown(payload: dict[str, Any]) -> str:
    lines: list[str] = []
    for request in payload["action_requests"]:
        lines += [f"{request['name']}({request['args']})", request["description"]]
    return "\n".join(textwrap.indent(textwrap.fill(line, 96), "  ") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
