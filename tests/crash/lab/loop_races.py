"""Races of a loop: several workers take it up at the same moment, and a worker that was frozen wakes when it is over."""

import json
import os
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loop_chains import ended, in_child, run_unharmed, start_child
from loop_scenarios import SCENARIOS
from loop_verdict import judge
from loop_worker import LoopWorker
from record import Record


def run_race(job: Mapping[str, Any]) -> dict[str, Any]:
    """What happened: how every racer ended, and the verdict on the run.

    `scenario`: see `SCENARIOS`. `folder`: where the run is kept. `killed_at`: the point at which its first worker dies; a
    person then decides whatever waits. `racers`: how many processes recover it. `told`: whether they bring the
    person's word about calls in doubt.
    """
    scenario, folder = job["scenario"], Path(job["folder"])
    run_unharmed(scenario, folder / "unharmed")
    run = folder / "run"
    run.mkdir()
    record = Record(run)
    killed = in_child(run, scenario, LoopWorker.converse, job["killed_at"])
    in_child(run, scenario, LoopWorker.approve_all)
    if job.get("told"):
        in_child(run, scenario, LoopWorker.poke)
    doubts = [line["calls"] for line in record.read("doubts")][-1:]
    before = len(record.read("ends"))
    here, go = os.pipe(), os.pipe()

    def wait() -> None:
        os.close(go[1])
        os.write(here[1], b".")
        os.read(go[0], 1)

    async def recover(worker: LoopWorker) -> None:
        await worker.once(worker.answer(doubts[0]) if doubts else None)

    pids = [start_child(run, scenario, recover, ready=wait) for _ in range(job["racers"])]
    for _ in pids:
        os.read(here[0], 1)
    for end in (*here, *go):
        os.close(end)
    codes = [ended(pid) for pid in pids]
    raced = Counter(line["ended"] for line in record.read("ends")[before:])
    codes.append(in_child(run, scenario, LoopWorker.converse))
    verdict = judge(record, scenario, "race", kills=1, unharmed=Record(folder / "unharmed"))
    return {"killed": killed, "codes": codes, "raced": dict(raced), "bad": verdict.bad}


def run_freezes(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What happened in each of these: they wait for frozen workers, and so run side by side.

    `scenario`: see `SCENARIOS`. `folder`: where runs are kept. `freezes`: each a point at which a worker freezes, what the
    person says about the call that it is at, and the point at which whoever takes over is killed, if it is.
    """
    folder = Path(job["folder"])
    run_unharmed(job["scenario"], folder / "unharmed")
    pids = []
    for n, (point, mood, *killed_at) in enumerate(job["freezes"]):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                report = _freeze(job["scenario"], point, mood, folder / str(n), *killed_at)
                (folder / f"report-{n}").write_text(json.dumps(report))
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids):
        raise RuntimeError(f"a controller failed; see {folder}")
    return [json.loads((folder / f"report-{n}").read_text()) for n in range(len(pids))]


def run_relay(job: Mapping[str, Any]) -> dict[str, Any]:
    """What happened to two workers: the second has looked before the first begins a call, and takes over while it runs.

    `scenario`: see `SCENARIOS`. `folder`: where the run is kept. `killed_at`: where the run's worker dies, and the first
    worker that takes it up freezes; `in_body`: where that freezes again.
    """
    scenario, run = job["scenario"], Path(job["folder"])
    run.mkdir(parents=True)
    record = Record(run)
    in_child(run, scenario, LoopWorker.converse, job["killed_at"])
    stop: Any = {"sent": signal.SIGSTOP}
    first = start_child(run, scenario, LoopWorker.once, job["killed_at"], job["in_body"], **stop)
    frozen = [_is_frozen(first)]
    second = start_child(
        run, scenario, LoopWorker.once, "before save running", "after read", **stop
    )
    frozen.append(_is_frozen(second))
    for pid in (first, second):
        os.kill(pid, signal.SIGCONT)
        frozen.append(_is_frozen(pid))
    # The second has taken over, and saw that a worker that lives has begun a call.
    os.kill(second, signal.SIGCONT)
    os.kill(first, signal.SIGCONT)
    codes = [ended(first), ended(second)]
    by_pid = {line["pid"]: line["ended"] for line in record.read("ends")}
    return {
        "frozen": frozen,
        "codes": codes,
        "ended": [by_pid[first], by_pid[second]],
        "effects": Counter(line["order"] for line in record.read("effects")),
    }


def _is_frozen(pid: int) -> bool:
    """Whether the child froze and did not end; it is waited for until it did one of them."""
    return os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])


def _freeze(scenario: str, point: str, mood: Any, run: Path, *killed_at: str) -> dict[str, Any]:
    run.mkdir()
    record = Record(run)
    frozen = start_child(run, scenario, LoopWorker.once, point, sent=signal.SIGSTOP)
    stopped = _is_frozen(frozen)
    took_over = in_child(run, scenario, LoopWorker.converse, *killed_at, mood=mood)
    meanwhile = record.read("effects")
    os.kill(frozen, signal.SIGCONT)
    code = ended(frozen)
    late = record.read("effects")[len(meanwhile) :]
    # Somebody looks once more: what the run says is what it said before the frozen worker woke.
    looked = in_child(run, scenario, LoopWorker.converse)
    histories = [line["messages"] for line in record.read("histories")]
    unharmed = Record(run.parent / "unharmed").read("histories")[-1]["messages"]
    wishes = Counter(line["key"] for line in record.read("effects"))
    return {
        "point": point,
        "stopped": stopped,
        "codes": [took_over, code, looked],
        "known_dead": [
            call["owner_known_dead"] for line in record.read("doubts") for call in line["calls"]
        ],
        "ended": [line["ended"] for line in record.read("ends") if line["pid"] == frozen],
        "late": [line["order"] for line in late],
        "twice": [key for key, count in wishes.items() if count > 1],
        "wishes": len(wishes) == sum(SCENARIOS[scenario].wishes.values()),
        "histories": [history == unharmed for history in histories],
    }
