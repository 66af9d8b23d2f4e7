"""What a question shows: the model's own arguments, which can be sent back with one of them changed, and true words."""

import logging
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.types import Command
from lg_approvals import APPROVE, CONFIRM, Office, notes, requests
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app, interrupts

from agent_adapter_langgraph import DurableTools

DOCS = [
    {"$set": ["q"]},
    {"x": {"$set": ["a", "b"]}},
    {"$date": "2020-01-01"},
    {"$dict": {'"a"': 1}},
]


def edit(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


@pytest.mark.parametrize("doc", DOCS, ids=str)
async def test_an_edit_that_keeps_an_argument_runs_it_as_the_model_wrote_it(
    doc, way, tmp_path, driver
):
    """Field report B39: what is edited is what is executed."""
    ran = []

    def update(doc: dict[str, Any], n: int = 1) -> str:
        ran.append((doc, n))
        return "updated"

    made = StructuredTool.from_function(update, name="update", description="update")

    def app() -> Any:
        durable = DurableTools(tmp_path / "runs.db", policies={"update": CONFIRM})
        chat = ScriptedChat(ask(("update", {"doc": doc}, "c1")))
        return durable_app(way, durable, chat, [made], driver.saver)

    asked = await driver.invoke(app(), GO)
    [(cause, args)] = requests(asked).values()
    answer = {interrupts(asked)[0].id: edit("update", {**args, "n": 2})}
    done = await driver.invoke(app(), Command(resume=answer), THREAD)

    assert (cause, args) == ("approval", {"doc": doc})
    assert answers(done) == {"c1": "updated"}
    assert ran == [(doc, 2)]


async def test_what_has_not_begun_has_no_worker(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))

    (asked,) = interrupts(await office.go())

    assert asked.value["owner_known_dead"] == [None]


async def test_one_answer_to_two_calls_comes_back_with_the_way_out(tmp_path, driver):
    turn = ask(("pay", "1", "c1"), ("pay", "2", "c2"))
    office = Office(tmp_path, driver, "agent", turn)
    (asked,) = interrupts(await office.go())

    still = await office.answer({asked.id: APPROVE})

    assert "nothing was decided" in notes(still)[0]
    assert '{"decisions": [one for each, in order]}' in notes(still)[0]
    assert office.ran == []


async def test_a_policy_whose_name_is_nearly_a_tools_is_reported(way, tmp_path, driver, caplog):
    """Nothing approves by default: a misspelt name must not pass in silence."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), confirm=("payy",))

    with caplog.at_level(logging.WARNING):
        await office.go()

    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "policies name 'payy', and there is a tool 'pay' without a policy: is that the one?"
    ]
