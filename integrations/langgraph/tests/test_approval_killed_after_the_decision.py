"""A worker that dies after the decision: the decision stays, and the body runs at most once unless a person says again."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from lg_approvals import APPROVE, by_call, edit, requests
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    durable_app,
    sqlite_saver,
)

from agent_adapter import ToolPolicy
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter_langgraph import DurableTools

TURN = ask(("pay", "1", "c1"))
DONE = {"c1": "pay 1 done"}


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Writes(SQLiteCheckpointStore):
    """A store whose process dies right before or right after its n-th write."""

    left = 10**6
    when = "after"

    async def claim_call(self, *arguments: Any, **named: Any) -> Any:
        type(self).left -= 1
        if self.left == 0 and self.when == "before":
            die("")
        written = await super().claim_call(*arguments, **named)
        if self.left == 0:
            die("")
        return written


def made(way: str, folder: str, store: Any = None, then: Any = None, **policy: Any) -> Any:
    """The agent of a worker on the files of this folder."""
    oracle = Oracle(Path(folder, "effects"))
    policies = {"pay": ToolPolicy(confirm=True, **policy)}
    durable = DurableTools(store or Path(folder, "runs.db"), policies=policies)
    tools = [oracle.tool("pay", then)]
    saver = sqlite_saver(Path(folder, "graph.db"))
    return durable_app(way, durable, ScriptedChat(TURN), tools, saver)


def ask_for_it(way: str, folder: str) -> None:
    """A first worker, which ends when the call waits."""
    made(way, folder).invoke(GO, THREAD)


def answer_and_die_in_the_body(way: str, folder: str, answer: Any) -> None:
    made(way, folder, then=die).invoke(Command(resume=answer), THREAD)


def answer_and_die_at_a_write(way: str, folder: str, answer: Any, n: int, when: str) -> None:
    Writes.left, Writes.when = n, when
    made(way, folder, Writes(Path(folder, "runs.db"))).invoke(Command(resume=answer), THREAD)


def asked_of(app: Any) -> dict[str, Any]:
    return {
        "__interrupt__": [each for task in app.get_state(THREAD).tasks for each in task.interrupts]
    }


@pytest.mark.parametrize("said", [APPROVE, edit("pay", "1")], ids=["approve", "edit"])
def test_killed_in_the_body_it_is_in_doubt_and_not_run_again_unasked(
    said, way, tmp_path, in_child, oracle
):
    """Item 115."""
    in_child(ask_for_it, way, str(tmp_path))
    asked = asked_of(made(way, str(tmp_path)))
    answer = by_call(asked, {"c1": said})

    assert in_child(answer_and_die_in_the_body, way, str(tmp_path), answer) == -signal.SIGKILL
    doubts = [requests(made(way, str(tmp_path)).invoke(None, THREAD)) for _ in range(2)]
    stale = requests(made(way, str(tmp_path)).invoke(Command(resume=answer), THREAD))

    assert doubts == [{"c1": ("died", {"x": "1"})}] * 2 == [stale] * 2
    assert oracle.lines == ["pay:1"]


def test_run_again_after_it_is_one_more_body_and_no_more_questions(way, tmp_path, in_child, oracle):
    in_child(ask_for_it, way, str(tmp_path))
    answer = by_call(asked_of(made(way, str(tmp_path))), {"c1": APPROVE})
    in_child(answer_and_die_in_the_body, way, str(tmp_path), answer)
    doubt = made(way, str(tmp_path)).invoke(None, THREAD)

    done = made(way, str(tmp_path)).invoke(Command(resume=by_call(doubt, {"c1": APPROVE})), THREAD)

    assert answers(done) == DONE
    assert oracle.lines == ["pay:1", "pay:1"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("way", ["node", "agent"])
def test_killed_at_any_write_the_decision_holds_and_the_body_runs_once(
    *, n, when, way, tmp_path, in_child, oracle
):
    """Item 115: whoever comes next goes on, asks what became of it, or asks again what nobody had stored yet."""
    in_child(ask_for_it, way, str(tmp_path))
    answer = by_call(asked_of(made(way, str(tmp_path))), {"c1": APPROVE})
    code = in_child(answer_and_die_at_a_write, way, str(tmp_path), answer, n, when)
    ran_before = oracle.lines.count("pay:1")

    state = made(way, str(tmp_path)).invoke(None, THREAD)
    causes = {cause for cause, _ in requests(state).values()}
    ran_unasked = oracle.lines.count("pay:1")
    if causes:
        said = {"died": {"type": "respond", "message": "pay 1 done"}}.get(*causes, APPROVE)
        again = Command(resume=by_call(state, {"c1": said}))
        state = made(way, str(tmp_path)).invoke(again, THREAD)

    assert code == -signal.SIGKILL or n > 2
    assert answers(state) == DONE
    assert max(ran_before, ran_unasked) <= 1
    assert oracle.lines.count("pay:1") <= 1
    assert causes <= {"approval", "died"}
    assert ran_before == 0 or causes != {"approval"}


def test_an_idempotent_call_is_repeated_under_the_decision_that_it_had(
    way, tmp_path, in_child, oracle
):
    in_child(ask_for_it, way, str(tmp_path))
    answer = by_call(asked_of(made(way, str(tmp_path))), {"c1": edit("pay", "7")})
    app = made(way, str(tmp_path), then=fails, idempotent=True)
    with pytest.raises(TimeoutError):
        app.invoke(Command(resume=answer), THREAD)

    done = made(way, str(tmp_path), idempotent=True).invoke(None, THREAD)

    assert answers(done)["c1"] == "pay 7 done"
    assert oracle.lines == ["pay:7", "pay:7"]


def fails(_: str) -> str:
    raise TimeoutError("no answer")


def answer_when_told(pipe: Any, way: str, folder: str, answer: Any) -> None:
    """One of two workers that answer at once; it says how many effects it saw and what it got."""
    app = made(way, folder)
    pipe.send("ready")
    pipe.recv()
    try:
        state = app.invoke(Command(resume=answer), THREAD)
        pipe.send(("state", answers(state), requests(state)))
    except Exception as error:  # noqa: BLE001 - what it got
        pipe.send(("error", [kind.__name__ for kind in type(error).__mro__], str(error)))


def together(start_child: Any, way: str, folder: Path, *given: Any) -> list[Any]:
    children = [start_child(answer_when_told, way, str(folder), each) for each in given]
    assert [child.hear() for child in children] == ["ready"] * len(children)
    for child in children:
        child.pipe.send("go")
    return [child.hear() for child in children]


def test_two_processes_that_approve_at_once_run_one_body(way, tmp_path, start_child, oracle):
    """Field report B07, item 116."""
    made(way, str(tmp_path)).invoke(GO, THREAD)
    answer = by_call(asked_of(made(way, str(tmp_path))), {"c1": APPROVE})

    got = together(start_child, way, tmp_path, answer, answer)

    assert ("state", DONE, {}) in got
    assert oracle.lines == ["pay:1"]
    assert answers(made(way, str(tmp_path)).invoke(None, THREAD)) == DONE


def test_of_two_processes_that_answer_differently_at_once_one_counts(
    way, tmp_path, start_child, oracle
):
    """A different second answer is a conflict, and nothing runs for it."""
    made(way, str(tmp_path)).invoke(GO, THREAD)
    asked = asked_of(made(way, str(tmp_path)))
    given = [by_call(asked, {"c1": said}) for said in (edit("pay", "2"), False)]

    got = together(start_child, way, tmp_path, *given)

    stands = answers(made(way, str(tmp_path)).invoke(None, THREAD))["c1"]
    assert (stands == "pay 2 done", oracle.lines) in [(True, ["pay:2"]), (False, [])]
    assert all(each[1]["c1"] == stands for each in got if each[0] == "state")
    errors = [each for each in got if each[0] == "error"]
    assert all({"ApprovalConflict", "CheckpointConflict"} & set(each[1]) for each in errors)
