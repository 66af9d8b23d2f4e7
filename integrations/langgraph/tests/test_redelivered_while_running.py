"""A run is handed to a second worker while the first is still inside the tool: the call runs once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    durable_app,
    sqlite_saver,
)

from agent_adapter.errors import CheckpointConflict
from agent_adapter_langgraph import DurableTools

CHAT = ScriptedChat(ask(("report", "q1", "c1")))


def first_worker(pipe: Any, way: str, folder: str) -> None:
    """Says when it is inside the tool, and stays there until it is told to go on."""

    def report(x: str) -> str:
        pipe.send("inside")
        pipe.recv()
        return "made by the first"

    tools = [Oracle(Path(folder, "effects")).tool("report", report)]
    durable = DurableTools(Path(folder, "runs.db"))
    done = durable_app(way, durable, CHAT, tools, sqlite_saver(Path(folder, "graph.db"))).invoke(
        GO, THREAD
    )
    pipe.send(answers(done))


def test_another_process_is_refused_and_later_answered(
    *, way, tmp_path, start_child, make_durable, sync_saver, oracle
):
    first = start_child(first_worker, way, tmp_path)
    assert first.hear() == "inside"
    durable = make_durable(claim_wait_s=0.1)
    app = durable_app(way, durable, CHAT, [oracle.tool("report")], sync_saver)

    with pytest.raises(CheckpointConflict, match="another live worker"):
        app.invoke(None, THREAD)
    first.pipe.send("go on")
    told = first.hear()
    done = app.invoke(None, THREAD)

    assert told == answers(done) == {"c1": "made by the first"}
    assert oracle.lines == ["report:q1"]


def test_another_process_that_waits_long_enough_gets_the_result(
    tmp_path, start_child, durable, sync_saver, oracle
):
    first = start_child(first_worker, "agent", tmp_path)
    assert first.hear() == "inside"
    app = durable_app("agent", durable, CHAT, [oracle.tool("report")], sync_saver)

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(app.invoke, None, THREAD)
        first.pipe.send("go on")

        assert answers(second.result()) == {"c1": "made by the first"}
    assert oracle.lines == ["report:q1"]


@pytest.mark.parametrize("protected", [True, False], ids=["protected", "control: bare LangGraph"])
def test_another_thread_of_the_same_process(protected, durable, sync_saver, oracle):
    inside, go_on = threading.Semaphore(0), threading.Event()

    def report(x: str) -> str:
        inside.release()
        assert go_on.wait(10)
        return "made"

    tools = [oracle.tool("report", report)]
    app = (
        durable_app("agent", durable, CHAT, tools, sync_saver)
        if protected
        else bare_app("agent", CHAT, tools, sync_saver)
    )
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(app.invoke, GO, THREAD)]
        assert inside.acquire(timeout=10)
        runs.append(pool.submit(app.invoke, None, THREAD))
        if not protected:
            assert inside.acquire(timeout=10)
        go_on.set()
        done = [answers(run.result()) for run in runs]

    assert done == [{"c1": "made"}] * 2
    assert oracle.lines == ["report:q1"] * (1 if protected else 2)
