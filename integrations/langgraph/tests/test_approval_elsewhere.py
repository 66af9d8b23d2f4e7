"""Approval of tools that are invoked by hand, in nodes of one's own and in subgraphs, and how the pause is streamed."""

from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from lg_approvals import APPROVE, CONFIRM, Office, by_call, edit, requests
from lg_scripted import GO, THREAD, answers, ask, interrupts
from typing_extensions import TypedDict

from agent_adapter.errors import ConfigError


class State(TypedDict, total=False):
    out: list[str]


def by_hand(
    driver: Any, make_durable: Any, oracle: Any, *, durably: bool, gate: bool = True
) -> Any:
    """A graph whose node invokes a wrapped tool twice with other arguments."""
    durable = make_durable(policies={"pay": CONFIRM}, gate=gate)
    (pay,) = durable.wrap([oracle.tool("pay")])

    def node(_: State) -> State:
        return {"out": [pay.invoke({"x": "1"}), pay.invoke({"x": "2"})]}

    async def anode(_: State) -> State:
        return {"out": [await pay.ainvoke({"x": "1"}), await pay.ainvoke({"x": "2"})]}

    chosen: Any = anode if driver.kind == "async" else node
    graph: Any = StateGraph(State)
    graph.add_node("node", durable.node(chosen) if durably else chosen)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=driver.saver)


def shown(asked: Any) -> list[tuple[str, str]]:
    return [(cause, given["x"]) for cause, given in requests(asked).values()]


@pytest.mark.parametrize("durably", [True, False], ids=["durable node", "bare node"])
async def test_tools_invoked_by_hand_wait_one_after_the_other(
    *, durably, driver, make_durable, oracle
):
    def app() -> Any:
        return by_hand(driver, make_durable, oracle, durably=durably)

    first = await driver.invoke(app(), {"out": []})
    answer = {interrupts(first)[0].id: APPROVE}
    second = await driver.invoke(app(), Command(resume=answer))
    stale = await driver.invoke(app(), Command(resume=answer))
    ran_before = oracle.lines
    done = await driver.invoke(app(), Command(resume={interrupts(stale)[0].id: edit("pay", "3")}))

    assert (shown(first), shown(second)) == ([("approval", "1")], [("approval", "2")])
    assert shown(stale) == shown(second)
    assert ran_before == ["pay:1"]
    assert done["out"] == ["pay 1 done", "pay 3 done"]
    assert oracle.lines == ["pay:1", "pay:3"]


async def test_without_a_gate_they_run(driver, make_durable, oracle):
    app = by_hand(driver, make_durable, oracle, durably=True, gate=False)

    done = await driver.invoke(app, {"out": []})

    assert done["out"] == ["pay 1 done", "pay 2 done"]


async def test_outside_a_graph_a_tool_that_needs_approval_does_not_run(make_durable, oracle):
    (pay,) = make_durable(policies={"pay": CONFIRM}).wrap([oracle.tool("pay")])

    with pytest.raises(ConfigError, match="no checkpointer"):
        pay.invoke({"x": "1"})

    assert oracle.lines == []


@pytest.mark.parametrize("way", ["wrapped"])
async def test_langgraphs_own_node_shows_wrapped_tools_one_by_one(way, tmp_path, driver):
    """Each waits under its own name; what was answered does not come back."""
    turn = ask(("look", "0", "c0"), ("pay", "1", "c1"), ("mail", "2", "c2"))
    office = Office(tmp_path, driver, way, turn, confirm=("pay", "mail"))
    state, seen = await office.go(), []

    while requests(state) and len(seen) < 4:
        seen += list(requests(state))
        state = await office.decide(state, c1=APPROVE, c2=edit("mail", "9"))

    assert sorted(seen) == ["c1", "c2"]
    assert answers(state) == {"c0": "look 0 done", "c1": "pay 1 done", "c2": "mail 9 done"}
    assert sorted(office.ran) == ["look:0", "mail:9", "pay:1"]


async def test_the_stream_shows_the_pause_and_takes_its_id(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))

    paused = await updates(driver, office.app(), GO)
    ((asked,),) = [each["__interrupt__"] for each in paused if "__interrupt__" in each]
    done = await updates(driver, office.app(), Command(resume={asked.id: APPROVE}))

    assert asked.value["tool_call_ids"] == ["c1"]
    assert not [each for each in done if "__interrupt__" in each]
    said = [
        message.text
        for each in done
        for update in each.values()
        for message in (update or {}).get("messages", ())
    ]
    assert said == ["pay 1 done", "done"]
    assert office.ran == ["pay:1"]


async def updates(driver: Any, app: Any, given: Any) -> list[Any]:
    if driver.kind == "async":
        return [each async for each in app.astream(given, THREAD, stream_mode="updates")]
    return list(app.stream(given, THREAD, stream_mode="updates"))


async def test_the_state_shows_what_waits(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))
    asked = await office.go()
    app = office.app()

    state = await app.aget_state(THREAD) if driver.kind == "async" else app.get_state(THREAD)

    assert list(state.interrupts) == interrupts(asked)


@pytest.mark.parametrize("depth", [1, 2])
async def test_an_agent_in_a_subgraph_waits_and_goes_on(depth, way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("look", "0", "c0"), ("pay", "1", "c1")))

    def app() -> Any:
        graph = office.app(within=True)
        for level in range(depth):
            outer: Any = StateGraph(MessagesState)
            outer.add_node("inner", graph)
            outer.add_edge(START, "inner")
            graph = outer.compile(checkpointer=driver.saver if level == depth - 1 else None)
        return graph

    asked = await driver.invoke(app(), GO)
    still = await driver.invoke(app(), None)
    done = await driver.invoke(app(), Command(resume=by_call(still, {"c1": edit("pay", "7")})))

    assert requests(asked) == requests(still) == {"c1": ("approval", {"x": "1"})}
    assert answers(done) == {"c0": "look 0 done", "c1": "pay 7 done"}
    assert sorted(office.ran) == ["look:0", "pay:7"]


async def test_two_threads_have_their_own_approvals(way, tmp_path, driver):
    """Item 116: an answer to one conversation says nothing in another."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))
    other: Any = {"configurable": {"thread_id": "other"}}
    first = await office.go()
    second = await office.go(config=other)

    still = await office.go(Command(resume=by_call(first, {"c1": APPROVE})), other)

    assert interrupts(first)[0].id != interrupts(second)[0].id
    assert requests(still) == {"c1": ("approval", {"x": "1"})}
    assert office.ran == []


async def test_a_named_request_in_a_fresh_thread_keeps_its_approval(way, tmp_path, driver):
    """Item 115: decided and run in one thread, a second delivery of the request is answered from the record."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))
    first: Any = {"configurable": {"thread_id": "a", "agent_adapter_run": "order-42"}}
    second: Any = {"configurable": {"thread_id": "b", "agent_adapter_run": "order-42"}}
    asked = await office.go(config=first)
    await office.go(Command(resume=by_call(asked, {"c1": APPROVE})), first)

    done = await office.go(config=second)

    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1"]
