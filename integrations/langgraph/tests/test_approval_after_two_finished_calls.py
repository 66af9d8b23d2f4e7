"""Item 157: a node makes three calls and the third waits; after the answer, in another process, only the third runs."""

import operator
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from lg_approvals import APPROVE, requests
from lg_scripted import THREAD, Oracle, interrupts, sqlite_saver
from typing_extensions import TypedDict

from agent_adapter import Executor, Registry, tool
from agent_adapter_langgraph import DurableTools

SHAPES = ["plain", "send", "subgraph", "send to subgraphs"]


class State(TypedDict, total=False):
    order: str
    out: Annotated[list[Any], operator.add]


class Out(TypedDict, total=False):
    out: Annotated[list[Any], operator.add]


def made(shape: str, folder: str, *, dies: bool = False) -> Any:
    """A worker's graph of that shape around the node, on the files of this folder."""
    oracle = Oracle(Path(folder, "effects"))

    @tool
    async def find(order: str) -> str:
        oracle.write(f"find:{order}")
        return f"found {order}"

    @tool
    async def book(order: str) -> str:
        oracle.write(f"book:{order}")
        return f"booked {order}"

    @tool(confirm=True)
    async def pay(order: str) -> str:
        oracle.write(f"pay:{order}")
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {order}"

    executor = Executor(Registry([find, book, pay]))
    durable = DurableTools(Path(folder, "runs.db"))

    def node(state: State) -> State:
        given = {"order": state["order"]}
        return {"out": [executor.run_sync(name, given) for name in ("find", "book", "pay")]}

    inner: Any = StateGraph(State, output_schema=Out)
    inner.add_node("settle", durable.node(node))
    inner.add_edge(START, "settle")
    outer: Any = StateGraph(State)
    outer.add_node("settle", inner.compile() if "subgraph" in shape else durable.node(node))
    if shape.startswith("send"):
        orders = ["a", "b", "c"]
        outer.add_conditional_edges(
            START, lambda _: [Send("settle", {"order": each}) for each in orders], ["settle"]
        )
    else:
        outer.add_edge(START, "settle")
    return outer.compile(checkpointer=sqlite_saver(Path(folder, "graph.db")))


def begin(shape: str, folder: str) -> None:
    made(shape, folder).invoke({"order": "a", "out": []}, THREAD)


def answer(shape: str, folder: str, said: Any) -> None:
    made(shape, folder).invoke(Command(resume=said), THREAD)


def answer_and_die(shape: str, folder: str, said: Any) -> None:
    made(shape, folder, dies=True).invoke(Command(resume=said), THREAD)


def asked_of(shape: str, folder: Path) -> dict[str, Any]:
    """What waits, seen from this process."""
    tasks = made(shape, str(folder)).get_state(THREAD).tasks
    return {"__interrupt__": [each for task in tasks for each in task.interrupts]}


def all_of(asked: Any, said: Any) -> dict[str, Any]:
    return {each.id: said for each in interrupts(asked)}


def orders(shape: str) -> str:
    return "abc" if shape.startswith("send") else "a"


def finished(shape: str, folder: Path) -> list[str]:
    return made(shape, str(folder)).get_state(THREAD).values["out"]


@pytest.mark.parametrize("shape", SHAPES)
def test_in_a_new_process_only_the_third_runs(shape, tmp_path, in_child, oracle):
    """Item 157."""
    assert in_child(begin, shape, str(tmp_path)) == 0
    asked = asked_of(shape, tmp_path)
    ran_before = sorted(oracle.lines)

    assert in_child(answer, shape, str(tmp_path), all_of(asked, APPROVE)) == 0

    first_two = sorted(f"{name}:{order}" for name in ("find", "book") for order in orders(shape))
    assert [cause for cause, _ in requests(asked).values()] == ["approval"] * len(orders(shape))
    assert ran_before == first_two
    assert sorted(oracle.lines) == sorted([*first_two, *(f"pay:{each}" for each in orders(shape))])
    assert sorted(finished(shape, tmp_path)) == sorted(
        f"{done} {order}" for done in ("found", "booked", "paid") for order in orders(shape)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_answered_one_by_one_each_third_runs_with_its_own_answer(shape, tmp_path, in_child, oracle):
    """Item 116: an answer reaches its own node of several."""
    in_child(begin, shape, str(tmp_path))

    for order in reversed(orders(shape)):
        asked = asked_of(shape, tmp_path)
        name = next(name for name, (_, given) in requests(asked).items() if given["order"] == order)
        change = {"order": f"{order}!"}
        said = {"type": "edit", "edited_action": {"name": "pay", "args": change}}
        in_child(answer, shape, str(tmp_path), by_call_and_order(asked, order, name, said))

    assert sorted(line for line in oracle.lines if "pay" in line) == [
        f"pay:{order}!" for order in orders(shape)
    ]
    assert len(oracle.lines) == 3 * len(orders(shape))


def by_call_and_order(asked: Any, order: str, name: str, said: Any) -> dict[str, Any]:
    """The answer in the interrupt that shows this order."""
    shows = {
        each.id: [action["args"] for action in each.value["action_requests"]]
        for each in interrupts(asked)
    }
    return {key: {name: said} for key, arguments in shows.items() if {"order": order} in arguments}


@pytest.mark.parametrize("shape", ["plain", "subgraph"])
def test_killed_in_the_third_it_is_in_doubt_and_run_again_when_told(
    shape, tmp_path, in_child, oracle
):
    """Item 115."""
    in_child(begin, shape, str(tmp_path))
    said = all_of(asked_of(shape, tmp_path), APPROVE)
    assert in_child(answer_and_die, shape, str(tmp_path), said) == -signal.SIGKILL

    doubt = made(shape, str(tmp_path)).invoke(None, THREAD)
    stale = made(shape, str(tmp_path)).invoke(Command(resume=said), THREAD)
    ran_before = oracle.lines
    done = made(shape, str(tmp_path)).invoke(Command(resume=all_of(doubt, APPROVE)), THREAD)

    assert requests(doubt) == requests(stale)
    assert list(requests(doubt).values()) == [("died", {"order": "a"})]
    assert ran_before == ["find:a", "book:a", "pay:a"]
    assert done["out"] == ["found a", "booked a", "paid a"]
    assert oracle.lines == ["find:a", "book:a", "pay:a", "pay:a"]
