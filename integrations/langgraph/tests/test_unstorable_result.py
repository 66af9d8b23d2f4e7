"""The tool did its work and its result cannot be stored: however often the run is resumed, the effect stays one."""

import fractions
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.types import Command
from lg_scripted import GO, ScriptedChat, answers, ask, bare_app, causes, durable_app, interrupts

TURN = ask(("charge", "5", "c1"))
VALUES = {"wide int": 2**70, "fraction": fractions.Fraction(1, 3), "function": lambda: 1}


def charging(oracle: Any, value: Any) -> StructuredTool:
    def charge(x: str) -> tuple[str, dict[str, Any]]:
        oracle.write(f"charge:{x}")
        return "charged", {"raw": value}

    return StructuredTool.from_function(
        charge, name="charge", description="charge", response_format="content_and_artifact"
    )


async def attempts(driver: Any, app: Any) -> list[Any]:
    """The outcomes of a run and two resumptions: each a state or an error."""
    outcomes: list[Any] = []
    for given in (GO, None, None):
        try:
            outcomes.append(await driver.invoke(app, given))
        except Exception as error:  # noqa: BLE001 - the outcome
            outcomes.append(error)
    return outcomes


@pytest.mark.parametrize("name", VALUES)
async def test_the_effect_stays_one(name, way, driver, durable, oracle):
    app = durable_app(
        way, durable, ScriptedChat(TURN), [charging(oracle, VALUES[name])], driver.saver
    )

    await attempts(driver, app)

    assert oracle.lines == ["charge:5"]


@pytest.mark.parametrize("name", ["wide int", "function"])
async def test_a_person_can_say_what_the_result_is(name, way, driver, durable, oracle):
    app = durable_app(
        way, durable, ScriptedChat(TURN), [charging(oracle, VALUES[name])], driver.saver
    )

    *_, asked = await attempts(driver, app)
    assert causes(asked) == ["unrecordable"]
    (question,) = interrupts(asked)
    done = await driver.invoke(
        app, Command(resume={question.id: {"type": "respond", "message": "paid"}})
    )

    assert "artifact" in question.value["action_requests"][0]["description"]
    assert answers(done) == {"c1": "paid"}
    assert oracle.lines == ["charge:5"]


async def test_control_bare_langgraph_charges_each_time(driver, oracle):
    app = bare_app(
        "agent", ScriptedChat(TURN), [charging(oracle, VALUES["function"])], driver.saver
    )

    await attempts(driver, app)

    assert oracle.lines == ["charge:5"] * 3
