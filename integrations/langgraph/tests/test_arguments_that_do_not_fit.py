"""Arguments that the tool's schema refuses never reached its body: nothing is in doubt, and nobody is asked."""

from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from lg_scripted import GO, ScriptedChat, answers, ask, causes, durable_app, loop, replying

TURN = ask(("pay", {"y": "1"}, "c1"))


async def test_the_model_is_told(driver, durable, oracle):
    for way in ("node", "agent"):
        app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("pay")], driver.saver)
        config = {"configurable": {"thread_id": way}}

        assert "Field required" in answers(await driver.invoke(app, GO, config))["c1"]
    assert oracle.lines == []


async def test_a_node_that_handles_no_errors_fails_again_and_asks_nobody(driver, durable, oracle):
    tools = durable.tool_node([oracle.tool("pay")], handle_tool_errors=False)
    app = loop(durable.turn(replying(ScriptedChat(TURN))), tools, driver.saver)

    outcomes = await outcomes_of(driver, app)

    assert [type(each).__name__ for each in outcomes] == ["ToolInvocationError"] * 2


async def test_a_wrapped_tool_fails_again_and_asks_nobody(driver, durable, oracle):
    (pay,) = durable.wrap([oracle.tool("pay")])

    def node(_: MessagesState) -> dict[str, Any]:
        pay.invoke({"y": "1"})
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")

    outcomes = await outcomes_of(driver, graph.compile(checkpointer=driver.saver))

    assert [type(each).__name__ for each in outcomes] == ["ValidationError"] * 2


async def outcomes_of(driver: Any, app: Any) -> list[Any]:
    """A run and a resumption: each a list of questions or an error."""
    outcomes: list[Any] = []
    for given in (GO, None):
        try:
            outcomes.append(causes(await driver.invoke(app, given)))
        except Exception as error:  # noqa: BLE001 - the outcome
            outcomes.append(error)
    return outcomes
