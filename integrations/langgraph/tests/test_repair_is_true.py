"""`repair` never says of a call that it did not start when it may have: whatever named, kept or ended it."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.errors import ParentCommand
from langgraph.types import Command
from lg_scripted import GO, THREAD, ScriptedChat, ask, durable_app

from agent_adapter import ToolPolicy

NAMED = {"configurable": {"thread_id": "thread", "agent_adapter_run": "order-42"}}
STOP = ("stop", "here", "c2")


@dataclass
class Line:
    sku: str


def stop(_: str) -> str:
    raise RuntimeError("stopped")


async def answers_after_a_stop(
    driver: Any, durable: Any, tools: list[Any], turn: AIMessage, config: Any
) -> Any:
    """The repaired answers by call id, after a turn that ended with an error."""
    app = durable_app("node", durable, ScriptedChat(turn), tools, driver.saver)
    with pytest.raises((RuntimeError, ParentCommand)):
        await driver.invoke(app, GO, config)
    state = await app.aget_state(THREAD) if driver.kind == "async" else app.get_state(THREAD)
    messages = await durable.arepair(state.values, "thread")
    return {
        message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)
    }


async def test_calls_of_a_named_run(driver, durable, oracle):
    tools = [oracle.tool("charge"), oracle.tool("stop", stop)]

    told = await answers_after_a_stop(
        driver, durable, tools, ask(("charge", "5", "c1"), STOP), NAMED
    )

    assert "never started" not in told["c1"].text
    assert "never started" not in told["c2"].text


@pytest.mark.parametrize(
    "policy", [ToolPolicy(idempotent=True), ToolPolicy(read_only=True)], ids=["repeatable", "reads"]
)
async def test_calls_that_need_no_record_before_they_begin(policy, driver, make_durable, oracle):
    durable = make_durable(policies={"stop": policy})

    told = await answers_after_a_stop(
        driver, durable, [oracle.tool("stop", stop)], ask(STOP), THREAD
    )

    assert "never started" not in told["c2"].text


async def test_a_result_of_a_class_that_the_tool_declares(driver, durable, oracle):
    def look(x: str) -> tuple[str, Line]:
        return "looked", Line(x)

    tools = [
        StructuredTool.from_function(
            look, description="look", response_format="content_and_artifact"
        ),
        oracle.tool("stop", stop),
    ]

    told = await answers_after_a_stop(
        driver, durable, tools, ask(("look", "a", "c1"), STOP), THREAD
    )

    assert (told["c1"].text, told["c1"].artifact) == ("looked", Line("a"))


async def test_a_finished_hand_off(driver, durable, oracle):
    @tool
    def hand_over(tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Hand over."""
        oracle.write("hand_over")
        raise ParentCommand(Command(graph="above", goto="other"))

    told = await answers_after_a_stop(
        driver, durable, [hand_over], ask(("hand_over", {}, "c2")), THREAD
    )

    assert "never started" not in told["c2"].text


async def test_calls_without_ids_are_given_one_with_their_answer(durable):
    history = [HumanMessage("go"), ask(("charge", "5", None)).model_copy(update={"id": "m1"})]

    messages = await durable.arepair(history, "thread")

    (asked,) = [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    assert [message.tool_call_id for message in messages if isinstance(message, ToolMessage)] == [
        asked
    ]


async def test_repeated_ids_of_one_turn_are_told_apart_with_their_answers(durable):
    history = [
        HumanMessage("go"),
        ask(("pay", "a", "c"), ("pay", "b", "c")).model_copy(update={"id": "m1"}),
    ]

    messages = await durable.arepair(history, "thread")

    asked = [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    assert len(set(asked)) == 2
    assert [
        message.tool_call_id for message in messages if isinstance(message, ToolMessage)
    ] == asked
