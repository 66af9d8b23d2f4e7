"""A deploy renames a tool, or gives it another signature, while a call of it is in doubt: a person can still end it."""

from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.types import Command
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, causes, durable_app, interrupts

CHAT = ScriptedChat(ask(("refund", "o1", "c1")))


def fails(_: str) -> str:
    raise TimeoutError("no answer")


def re_signed(oracle: Oracle) -> StructuredTool:
    def refund(x: str, reason: str) -> str:
        oracle.write(f"refund:{x}:{reason}")
        return "refunded"

    return StructuredTool.from_function(refund, name="refund", description="refund")


DEPLOYS = {"renamed": lambda oracle: oracle.tool("refund_v2"), "re-signed": re_signed}


@pytest.fixture(params=DEPLOYS)
def tools(request, oracle) -> list[Any]:
    return [DEPLOYS[request.param](oracle)]


@pytest.fixture(params=["node", "agent"])
def way(request):
    return request.param


async def in_doubt(
    way: str, driver: Any, make_durable: Any, oracle: Oracle, tools: list[Any]
) -> tuple[Any, Any]:
    """The new deploy's agent, and the question about the old deploy's call."""
    old = durable_app(way, make_durable(), CHAT, [oracle.tool("refund", fails)], driver.saver)
    with pytest.raises(TimeoutError):
        await driver.invoke(old, GO)
    new = durable_app(way, make_durable(), CHAT, tools, driver.saver)
    asked = await driver.invoke(new, None)
    assert causes(asked) == ["raised"]
    (question,) = interrupts(asked)
    return new, question


ENDS = {
    "respond": ({"type": "respond", "message": "paid"}, "paid"),
    "reject": ({"type": "reject", "message": "not wanted"}, "not wanted"),
}


@pytest.mark.parametrize("end", ENDS)
async def test_the_record_is_enough_to_end_it(*, end, way, driver, make_durable, oracle, tools):
    app, question = await in_doubt(way, driver, make_durable, oracle, tools)
    answer, told = ENDS[end]

    done = await driver.invoke(app, Command(resume={question.id: answer}))

    assert answers(done) == {"c1": told}
    assert oracle.lines == ["refund:o1"]


async def test_approve_keeps_the_call_in_doubt(way, driver, make_durable, oracle, tools):
    app, question = await in_doubt(way, driver, make_durable, oracle, tools)

    still = await driver.invoke(app, Command(resume={question.id: {"type": "approve"}}))

    # The first attempt may have refunded: an error that invites the model to try again would double it.
    assert len(interrupts(still)) == 1
    assert answers(still) == {}
    assert oracle.lines == ["refund:o1"]


async def test_approve_runs_nothing_and_names_the_tool(way, driver, make_durable, oracle, tools):
    app, question = await in_doubt(way, driver, make_durable, oracle, tools)

    told = await driver.invoke(app, Command(resume={question.id: {"type": "approve"}}))

    assert "refund" in str([*answers(told).values(), *(each.value for each in interrupts(told))])
    assert oracle.lines == ["refund:o1"]
