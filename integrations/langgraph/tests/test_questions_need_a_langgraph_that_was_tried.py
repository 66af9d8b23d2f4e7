"""When the installed LangGraph behaves differently from what questions stand on, they are refused; the rest goes on."""

import pytest
from langgraph.types import Command
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app, interrupts

from agent_adapter import ConfigError
from agent_adapter_langgraph import _selfcheck

TURN = ask(("mail", "Ada", "c0"), ("charge", "5", "c1"))


@pytest.fixture
def different(monkeypatch):
    """Makes the self-check find a difference."""
    monkeypatch.setattr(_selfcheck, "_difference", lambda: "surfaces no ids")


def fails(_: str) -> str:
    raise TimeoutError("no answer")


def test_the_question_is_refused_and_what_finished_stays_recorded(
    way, make_durable, sync_saver, oracle, monkeypatch
):
    tools = [oracle.tool("mail"), oracle.tool("charge", fails)]
    app = durable_app(way, make_durable(), ScriptedChat(TURN), tools, sync_saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)

    with monkeypatch.context() as patched:
        patched.setattr(_selfcheck, "_difference", lambda: "surfaces no ids")
        with pytest.raises(ConfigError, match=r"LangGraph \S+ surfaces no ids"):
            app.invoke(None, THREAD)

    (question,) = interrupts(app.invoke(None, THREAD))
    done = app.invoke(Command(resume={question.id: {"type": "respond", "message": "paid"}}), THREAD)
    assert answers(done) == {"c0": "mail Ada done", "c1": "paid"}
    assert sorted(oracle.lines) == ["charge:5", "mail:Ada"]


@pytest.mark.usefixtures("different")
def test_a_run_without_a_question_is_not_touched(way, make_durable, sync_saver, oracle):
    tools = [oracle.tool("mail"), oracle.tool("charge")]
    app = durable_app(way, make_durable(), ScriptedChat(TURN), tools, sync_saver)

    assert answers(app.invoke(GO, THREAD)) == {"c0": "mail Ada done", "c1": "charge 5 done"}


def test_the_installed_release_was_tried_and_is_the_same():
    assert _selfcheck._try() is None
