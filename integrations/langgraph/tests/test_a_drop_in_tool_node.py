"""`tool_node` in the place of a `ToolNode`: the same results for every kind of tool, and the same again from the record."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send
from lg_scripted import THREAD, Oracle, ScriptedChat, ask, replying

CALL = ask(("work", "5", "c1"))
Id = Annotated[str, InjectedToolCallId]


class State(MessagesState):
    user: str
    note: str


def injected(effect: Callable[[str], None]) -> Any:
    @tool
    def work(
        x: str,
        user: Annotated[str, InjectedState("user")],
        store: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime,
        call_id: Id,
    ) -> str:
        """Work."""
        effect(x)
        found = store.get(("users",), user).value["name"]
        return f"{found} {len(runtime.state['messages'])} {runtime.tool_call_id} {call_id}"

    return work


def command(effect: Callable[[str], None]) -> Any:
    @tool
    def work(x: str, call_id: Id) -> Command[Any]:
        """Work."""
        effect(x)
        return Command(update={"note": x, "messages": [ToolMessage("noted", tool_call_id=call_id)]})

    return work


def jump(effect: Callable[[str], None]) -> Any:
    @tool
    def work(x: str, call_id: Id) -> Command[Any]:
        """Work."""
        effect(x)
        told = ToolMessage("sent on", tool_call_id=call_id)
        return Command(goto=[Send("extra", {"note": x})], update={"messages": [told]})

    return work


def several(effect: Callable[[str], None]) -> Any:
    @tool
    def work(x: str, call_id: Id) -> list[Any]:
        """Work."""
        effect(x)
        return [Command(update={"note": x}), ToolMessage("both", tool_call_id=call_id)]

    return work


def artifact(effect: Callable[[str], None]) -> Any:
    @tool(response_format="content_and_artifact")
    def work(x: str) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Work."""
        effect(x)
        return [{"type": "text", "text": "see"}], {"rows": (1, 2), "raw": b"\x00"}

    return work


def raises(effect: Callable[[str], None]) -> Any:
    @tool
    def work(x: str) -> str:
        """Work."""
        effect(x)
        raise ValueError(x)

    return work


def explain(error: ValueError) -> str:
    return f"no: {error}"


def short_circuit(request: Any, _handler: Any) -> Any:
    return ToolMessage("not run", tool_call_id=request.tool_call["id"], name="work")


def twice(request: Any, handler: Any) -> Any:
    changed = {**request.tool_call, "args": {"x": "6"}}
    return handler(request.override(tool_call=changed))


# The tool, the node's options, and the effects of one call.
CASES = {
    "injected arguments": (injected, {}, ["5"]),
    "a command": (command, {}, ["5"]),
    "a command that jumps": (jump, {}, ["5"]),
    "a list of both": (several, {}, ["5"]),
    "an artifact": (artifact, {}, ["5"]),
    "a handled error": (raises, {"handle_tool_errors": True}, ["5"]),
    "an error as a text": (raises, {"handle_tool_errors": "try later"}, ["5"]),
    "an error as a function says": (raises, {"handle_tool_errors": explain}, ["5"]),
    "an error of a listed kind": (raises, {"handle_tool_errors": (ValueError,)}, ["5"]),
    "a wrapper that answers itself": (command, {"wrap_tool_call": short_circuit}, []),
    "a wrapper that changes arguments": (command, {"wrap_tool_call": twice}, ["6"]),
}


def app_of(node: Any, saver: Any) -> Any:
    store = InMemoryStore()
    store.put(("users",), "ada", {"name": "Ada"})
    graph = StateGraph(State)
    graph.add_node("model", replying(ScriptedChat(CALL)))
    graph.add_node("tools", node)
    graph.add_node("extra", lambda state: {"note": f"extra {state['note']}"})
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    return graph.compile(checkpointer=saver, store=store)


def seen(state: Any) -> Any:
    told = [m.model_dump(exclude={"id"}) for m in state["messages"] if isinstance(m, ToolMessage)]
    return told, state.get("note")


@pytest.mark.parametrize("case", CASES)
def test_it_does_what_a_tool_node_does_and_once(case, durable, sync_saver, oracle, tmp_path):
    make, options, effects = CASES[case]
    given = {"messages": [("user", "go")], "user": "ada"}
    bare = app_of(ToolNode([make(Oracle(tmp_path / "bare").write)], **options), sync_saver)
    wanted = seen(bare.invoke(given, {"configurable": {"thread_id": "bare"}}))
    app = app_of(durable.tool_node([make(oracle.write)], **options), sync_saver)

    first = seen(app.invoke(given, THREAD))
    before = next(s for s in app.get_state_history(THREAD) if s.next == ("tools",))
    replayed = seen(app.invoke(None, before.config))

    assert len(wanted[0]) == 1
    assert (first, replayed) == (wanted, wanted)
    assert oracle.lines == effects
