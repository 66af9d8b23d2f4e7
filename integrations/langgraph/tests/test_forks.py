"""Another branch of a thread meets a finished call again: `on_fork` says whether it is replayed, run there, or asked about."""

from typing import Any

import pytest
from langgraph.types import Command
from lg_scripted import THREAD, ScriptedChat, answers, ask, causes, durable_app, interrupts

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
GO = {"messages": [("user", "go")]}


@pytest.fixture
def branch(way, make_durable, sync_saver, oracle) -> Any:
    """Makes, once the call has finished, a branch of the thread from before it: its app and the branch's config."""

    def make(**settings: Any) -> tuple[Any, Any]:
        charge = oracle.tool("charge", lambda _: f"receipt {len(oracle.lines)}")
        app = durable_app(way, make_durable(**settings), CHAT, [charge], sync_saver)
        assert answers(app.invoke(GO, THREAD)) == {"c1": "receipt 1"}
        before = next(s for s in app.get_state_history(THREAD) if s.next == ("tools",))
        return app, app.update_state(before.config, {"messages": []}, as_node="model")

    return make


def test_by_default_it_is_replayed(branch, oracle):
    app, fork = branch()

    assert answers(app.invoke(None, fork)) == {"c1": "receipt 1"}
    assert oracle.lines == ["charge:5"]


def test_rerun_runs_it_once_on_each_branch(branch, oracle):
    app, fork = branch(on_fork="rerun")

    told = [answers(app.invoke(None, config)) for config in (fork, THREAD)]

    assert told == [{"c1": "receipt 2"}] * 2
    assert oracle.lines == ["charge:5", "charge:5"]


ENDS = {
    "approve": ({"type": "approve"}, "receipt 2", 2),
    "reject": ({"type": "reject"}, "receipt 1", 1),
    "respond": ({"type": "respond", "message": "as before"}, "as before", 1),
}


@pytest.mark.parametrize("end", ENDS)
def test_ask_asks_and_the_answer_counts(end, branch, oracle):
    answer, told, effects = ENDS[end]
    app, fork = branch(on_fork="ask")

    asked = app.invoke(None, fork)
    (question,) = interrupts(asked)
    done = app.invoke(Command(resume={question.id: answer}), THREAD)

    assert causes(asked) == ["fork"]
    assert answers(done) == {"c1": told}
    assert len(oracle.lines) == effects
