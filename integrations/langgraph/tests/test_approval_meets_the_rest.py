"""Approvals beside forks, repairs, retention, deploys, sends and other middleware: what waits is never run by a side door."""

from contextlib import nullcontext, suppress
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command, Send
from lg_approvals import APPROVE, CONFIRM, REJECT, Office, by_call, edit, requests
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, interrupts

from agent_adapter_langgraph import DurableTools, UnstableVisit

TURN = ask(("pay", "1", "c1"))


async def before_the_tools(driver: Any, app: Any) -> Any:
    """The config of the checkpoint that the tools of the first turn stand on."""
    if driver.kind == "async":
        history = [each async for each in app.aget_state_history(THREAD)]
    else:
        history = list(app.get_state_history(THREAD))
    return next(each for each in reversed(history) if "tools" in each.next).config


@pytest.mark.parametrize("way", ["node", "wrapped"])
async def test_on_another_branch_a_call_that_runs_again_is_approved_again(way, tmp_path, driver):
    """Item 116: an approval is not carried into a branch that runs the call for itself."""
    office = Office(tmp_path, driver, way, TURN, on_fork="rerun")
    await office.decide(await office.go(), c1=APPROVE)
    config = await before_the_tools(driver, office.app())

    asked = await office.go(None, config)

    assert requests(asked) == {"c1": ("approval", {"x": "1"})}
    assert office.ran == ["pay:1"]


async def test_on_another_branch_a_finished_call_is_replayed(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN)
    await office.decide(await office.go(), c1=edit("pay", "7"))
    config = await before_the_tools(driver, office.app())

    done = await office.go(None, config)

    assert answers(done) == {"c1": "pay 7 done"}
    assert office.ran == ["pay:7"]


async def test_repaired_a_call_that_waits_is_said_never_to_have_started(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    durable = DurableTools(tmp_path / "runs.db", policies={"pay": CONFIRM})

    repaired = await durable.arepair(asked, "thread")

    assert "never started" in answers({"messages": repaired})["c1"]


async def test_what_waits_is_kept_however_old_it_is(way, tmp_path, driver):
    """Item 123."""
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    durable = DurableTools(tmp_path / "runs.db", policies={"pay": CONFIRM})

    await durable.aprune(0)
    still = await office.again()
    done = await office.decide(still, c1=APPROVE)

    assert interrupts(still) == interrupts(asked)
    assert answers(done) == {"c1": "pay 1 done"}


async def test_a_tool_that_a_deploy_took_away_does_not_run_when_it_is_approved(
    way, tmp_path, driver
):
    """Field report B31."""
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    del office.bodies["pay"]

    done = await office.decide(asked, c1=APPROVE)

    assert "not a valid tool" in answers(done)["c1"]
    assert office.ran == []


async def test_a_schema_that_a_deploy_changed_does_not_run_what_was_approved(way, tmp_path, driver):
    """Field report B31: the approved arguments no longer fit."""
    office = Office(tmp_path, driver, way, ask(("pay", {"x": "1", "to": "ann"}, "c1")))
    asked = await office.go()

    def numbered(name: str, then: Any = None) -> Any:
        def run(amount: int) -> str:
            office.oracle.write(f"{name}:{amount}")
            return "paid"

        return StructuredTool.from_function(func=run, name=name, description=name)

    office.oracle.tool = numbered

    # LangGraph's own node raises what the others answer with.
    with suppress(ToolInvocationError) if way == "wrapped" else nullcontext():
        done = await office.decide(asked, c1=APPROVE)
        assert "amount" in answers(done)["c1"]

    assert office.ran == []


async def test_sent_to_nodes_of_their_own_calls_wait_each_for_itself(tmp_path, driver, oracle):
    """One task per call: each has its own interrupt and its own answer."""
    turn = ask(("look", "0", "c0"), ("pay", "1", "c1"), ("pay", "2", "c2"))

    def app() -> Any:
        durable = DurableTools(tmp_path / "runs.db", policies={"pay": CONFIRM})
        graph: Any = StateGraph(MessagesState)
        chat = ScriptedChat(turn)
        model = durable.turn(lambda state: {"messages": [chat.invoke(state["messages"])]})
        graph.add_node("model", model)
        graph.add_node("tools", durable.tool_node([oracle.tool("look"), oracle.tool("pay")]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", sends, ["tools"])
        return graph.compile(checkpointer=driver.saver)

    asked = await driver.invoke(app(), GO)
    still = await driver.invoke(app(), Command(resume=by_call(asked, {"c2": edit("pay", "9")})))
    ran_before = sorted(oracle.lines)
    done = await driver.invoke(app(), Command(resume=by_call(still, {"c1": REJECT})))

    assert len(interrupts(asked)) == 2
    assert requests(asked) == {"c1": ("approval", {"x": "1"}), "c2": ("approval", {"x": "2"})}
    assert requests(still) == {"c1": ("approval", {"x": "1"})}
    assert ran_before == ["look:0", "pay:9"]
    assert answers(done) == {"c0": "look 0 done", "c1": "too much", "c2": "pay 9 done"}


def sends(state: Any) -> list[Send]:
    last = state["messages"][-1]
    return [Send("tools", [call]) for call in last.tool_calls]


class BackToTheTools(AgentMiddleware[Any, Any, Any]):
    """Sends the agent to its tools once more after it has answered, whatever they are said to have done."""

    def __init__(self) -> None:
        super().__init__()
        self.jumps = 0

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state: Any, runtime: Any) -> Any:
        del runtime
        if any(message.type == "tool" for message in state["messages"]) and self.jumps < 1:
            self.jumps += 1
            return {"jump_to": "tools"}
        return None


@pytest.mark.parametrize("way", ["agent"])
async def test_a_refused_call_does_not_run_whatever_route_leads_to_it(way, tmp_path, driver):
    """Field report B19: a recorded denial is final at the execution boundary."""
    office = Office(tmp_path, driver, way, TURN, inside=lambda: [BackToTheTools()])

    await office.decide(await office.go(), c1=REJECT)
    await office.again()

    assert office.ran == []


class StraightToTheTools(AgentMiddleware[Any, Any, Any]):
    """Jumps over every hook that stands between the model and the tools."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> Any:
        del runtime
        last = state["messages"][-1]
        return {"jump_to": "tools"} if isinstance(last, AIMessage) and last.tool_calls else None


@pytest.mark.parametrize("way", ["agent"])
async def test_a_jump_over_the_question_meets_it_at_the_tool(way, tmp_path, driver):
    """Field report B19: the gate is at the body, the hook only asks earlier."""
    office = Office(tmp_path, driver, way, TURN, inside=lambda: [StraightToTheTools()])

    asked = await office.go()
    ran_before = office.ran
    done = await office.decide(asked, c1=APPROVE)

    assert requests(asked) == {"c1": ("approval", {"x": "1"})}
    assert ran_before == []
    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1"]


async def test_a_new_message_while_a_call_waits_lets_nothing_run(way, tmp_path, driver):
    """Field report B24; a late answer to the old question neither."""
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    await office.go({"messages": [("user", "never mind")]})

    await office.decide(asked, c1=APPROVE)

    assert office.ran == []


async def test_a_durability_that_stores_too_late_is_refused_unless_the_request_has_a_name(
    way, tmp_path, driver
):
    office = Office(tmp_path, driver, way, TURN)
    named: Any = {"configurable": {"thread_id": "named", "agent_adapter_run": "order-42"}}

    with pytest.raises(UnstableVisit):
        await driver.invoke(office.app(), GO, THREAD, durability="exit")
    asked = await driver.invoke(office.app(), GO, named, durability="exit")
    ran_before = office.ran
    answer = Command(resume=by_call(asked, {"c1": APPROVE}))
    done = await driver.invoke(office.app(), answer, named, durability="exit")

    assert ran_before == []
    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1"]
