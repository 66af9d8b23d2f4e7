"""Two tiny graphs that try every unstable LangGraph behaviour which questions stand on: once per process, before the first.

It tests what happens, not which names exist. When it fails, questions are refused with a clear error; recording and replay
do not depend on it and go on.
"""

import contextvars
import functools
from importlib.metadata import version
from typing import Any, TypedDict

from langchain_core.runnables.config import set_config_context
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from agent_adapter.errors import ConfigError
from agent_adapter_langgraph._compat import RESUME_MAP, BodyScope, bare_answer, take_bare_answer

OWN_ID = "0123456789abcdef0123456789abcdef"
THREAD: Any = {"configurable": {"thread_id": "self-check"}}


class _State(TypedDict, total=False):
    seen: Any


def require_questions() -> None:
    """Return when questions can be asked and answered on the installed LangGraph.

    Raises:
        ConfigError: they cannot; the message says what is different.
    """
    if (difference := _difference()) is not None:
        raise ConfigError(
            f"a question has to be asked, but LangGraph {version('langgraph')} {difference}, so its answer could reach another "
            "call. Nothing was run or asked. Install a version in the range that agent-adapter-langgraph declares"
        )


@functools.cache
def _difference() -> str | None:
    # A context of its own: this runs inside a task of somebody's graph, and must not look like a part of it.
    return contextvars.Context().run(_try)


def _try() -> str | None:
    try:
        return _own_ids() or _body_scopes()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a difference
        return f"fails the self-check ({type(error).__name__}: {error})"


def _graph(node: Any) -> Any:
    builder = StateGraph(_State)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=InMemorySaver())


def _own_ids() -> str | None:
    """A question's own id is surfaced, and answers are found by it, or bare."""

    def ask(_: _State) -> _State:
        configurable = get_config()["configurable"]
        named = (configurable.get(RESUME_MAP) or {}).get(OWN_ID)
        bare = bare_answer(configurable)
        if named is None and bare is None:
            raise GraphInterrupt((Interrupt("?", id=OWN_ID),))
        return {
            "seen": [named, bare, take_bare_answer(configurable), take_bare_answer(configurable)]
        }

    for answer, wanted in (
        ({OWN_ID: "named"}, ["named", None, None, None]),
        ("bare", [None, "bare", "bare", None]),
    ):
        graph = _graph(ask)
        asked = graph.invoke({}, THREAD)["__interrupt__"]
        if [question.id for question in asked] != [OWN_ID]:
            return "does not surface a question's own id"
        if graph.invoke(Command(resume=answer), THREAD)["seen"] != wanted:
            return "does not hand over the answer to a question"
    return None


def _body_scopes() -> str | None:
    """A body is given its own answers, and its next question is told apart."""

    def ask(_: _State) -> _State:
        seen: list[Any] = []
        for answers in (["own"], []):
            scope = BodyScope(answers, "self-check")
            with set_config_context(scope.enter(get_config())) as context:
                try:
                    seen.append(context.run(interrupt, "?"))
                except GraphInterrupt as asked:
                    seen.extend([scope.asked, len(asked.args[0])])
        return {"seen": seen}

    if _graph(ask).invoke({}, THREAD)["seen"] != ["own", True, 1]:
        return "does not keep a tool's questions apart"
    return None
