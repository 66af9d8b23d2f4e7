"""A process killed between the effect and the stored result: the next one asks a person, and repeats nothing by itself."""

import os
import signal
from pathlib import Path

import pytest
from langgraph.types import Command
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    causes,
    durable_app,
    interrupts,
    sqlite_saver,
)

from agent_adapter import ToolPolicy
from agent_adapter_langgraph import DurableTools

CHAT = ScriptedChat(ask(("charge", "5", "c1")))


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def charge_and_die(way: str, durability: str, folder: str) -> None:
    """A first worker that is killed inside the tool, after its effect."""
    tools = [Oracle(Path(folder, "effects")).tool("charge", die)]
    saver = sqlite_saver(Path(folder, "graph.db"))
    app = durable_app(way, DurableTools(Path(folder, "runs.db")), CHAT, tools, saver)
    app.invoke(GO, THREAD, durability=durability)


def charge_and_die_bare(folder: str) -> None:
    tools = [Oracle(Path(folder, "effects")).tool("charge", die)]
    bare_app("agent", CHAT, tools, sqlite_saver(Path(folder, "graph.db"))).invoke(
        GO, THREAD, durability="sync"
    )


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_the_next_worker_asks_and_the_answer_ends_it(
    *, way, durability, tmp_path, in_child, durable, sync_saver, oracle
):
    assert in_child(charge_and_die, way, durability, tmp_path) == -signal.SIGKILL
    app = durable_app(way, durable, CHAT, [oracle.tool("charge")], sync_saver)

    for _ in range(3):
        asked = app.invoke(None, THREAD)
        assert causes(asked) == ["died"]
    (question,) = interrupts(asked)
    done = app.invoke(
        Command(resume={question.id: {"type": "respond", "message": "paid, receipt 7"}}), THREAD
    )

    assert question.value["owner_known_dead"] == [True]
    assert answers(done) == {"c1": "paid, receipt 7"}
    assert oracle.lines == ["charge:5"]


def test_approve_runs_it_again_once(tmp_path, in_child, durable, sync_saver, oracle):
    in_child(charge_and_die, "agent", "async", tmp_path)
    app = durable_app("agent", durable, CHAT, [oracle.tool("charge")], sync_saver)

    app.invoke(None, THREAD)
    done = app.invoke(Command(resume="approve"), THREAD)

    assert answers(done) == {"c1": "charge 5 done"}
    assert oracle.lines == ["charge:5", "charge:5"]


def test_an_idempotent_tool_runs_again_unasked(
    tmp_path, in_child, make_durable, sync_saver, oracle
):
    in_child(charge_and_die, "agent", "async", tmp_path)
    durable = make_durable(policies={"charge": ToolPolicy(idempotent=True)})
    app = durable_app("agent", durable, CHAT, [oracle.tool("charge")], sync_saver)

    assert answers(app.invoke(None, THREAD)) == {"c1": "charge 5 done"}


def test_control_bare_langgraph_repeats_the_effect(tmp_path, in_child, sync_saver, oracle):
    assert in_child(charge_and_die_bare, tmp_path) == -signal.SIGKILL

    bare_app("agent", CHAT, [oracle.tool("charge")], sync_saver).invoke(None, THREAD)

    assert oracle.lines == ["charge:5", "charge:5"]
