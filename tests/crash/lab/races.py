"""A race: a paused run whose questions are answered by several workers at the same moment."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chains import ended, in_child, start_child
from passes import Cell, Worker
from person import Mood, Person
from record import Record
from verdict import fits


class Gate:
    """Lets processes that wait at it go at the same moment."""

    def __init__(self) -> None:
        self._here, self._go = os.pipe(), os.pipe()

    def wait(self) -> None:
        """In a child: say that it is here, and return when the gate opens."""
        os.close(self._go[1])
        os.write(self._here[1], b".")
        os.read(self._go[0], 1)

    def open(self, runners: int) -> None:
        """In the parent: wait for so many children, then let them go."""
        os.close(self._here[1])
        for _ in range(runners):
            os.read(self._here[0], 1)
        for end in (self._go[1], self._go[0], self._here[0]):
            os.close(end)


def run_race(job: Mapping[str, Any]) -> dict[str, Any]:
    """What happened: the effects, how every worker ended, and how the run stands.

    `cell`: see `Cell`. `folder`: where the run is kept. `killed_at`: the point at which the first worker dies, so that
    the question is about a call in doubt; without it the run pauses by itself. `moods`: who answers in each process.
    `threads`: how many threads of each process answer.
    """
    cell, folder = Cell(**job["cell"]), Path(job["folder"])
    folder.mkdir(parents=True)
    record, worker = Record(folder), Worker(cell, folder)
    in_child(folder, job.get("killed_at", 0), worker.begin)
    if "killed_at" in job:
        in_child(folder, 0, worker.poke)
    questions: dict[str, Any] = record.read("passes")[-1]["questions"]
    before = len(record.read("passes"))
    gate = Gate()
    pids = []
    for mood in job["moods"]:
        answers = _answers(record, questions, mood)
        work = _answering(worker, answers, job.get("threads", 1), gate)
        pids.append(start_child(folder, 0, work))
    gate.open(len(pids))
    codes = [ended(pid) for pid in pids]
    raced = record.read("passes")[before:]
    codes.append(in_child(folder, 0, lambda: worker.converse("none")))
    return {
        "questions": len(questions),
        "codes": codes,
        "effects": dict(record.effects()),
        "raced": dict(Counter(map(_word, raced))),
        "errors": sorted({each["error"] for each in raced}),
        "results": record.read("passes")[-1]["results"],
        "turns": len(record.read("turns")),
        "told": [fits(line["answer"], line["order"]) for line in record.read("told")],
    }


def _answers(record: Record, questions: Mapping[str, Any], mood: Mood) -> dict[str, Any]:
    person = Person(record, mood=mood, style="id")
    answers = {name: person.decide(value) for name, value in questions.items()}
    record.add("answers", bare=False, answers=answers)
    return answers


def _answering(worker: Worker, answers: dict[str, Any], times: int, gate: Gate) -> Any:
    return lambda: worker.answer(answers, times=times, ready=gate.wait)


def _word(ended_as: Mapping[str, Any]) -> str:
    if ended_as["error"]:
        return str(ended_as["error"].split(":")[0])
    return "result" if ended_as["results"] is not None else "question"
