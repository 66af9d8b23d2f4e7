"""A call that finished before a sibling's pause is answered from the record when the turn goes on."""

from typing import Any

from langgraph.types import Command, interrupt
from lg_scripted import GO, Oracle, ScriptedChat, answers, ask, bare_app, durable_app, interrupts

TURN = ask(("charge", "900", "c1"), ("confirm", "ship", "c2"))


def tools_of(oracle: Oracle) -> list[Any]:
    def confirm(x: str) -> str:
        said = interrupt({"question": x})
        oracle.write(f"confirmed:{said}")
        return f"said {said}"

    return [oracle.tool("charge"), oracle.tool("confirm", confirm)]


async def test_a_finished_call_is_not_repeated_by_a_siblings_pause(way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), tools_of(oracle), driver.saver)

    paused = await driver.invoke(app, GO)
    done = await driver.invoke(app, Command(resume="yes"))

    assert [each.value for each in interrupts(paused)] == [{"question": "ship"}]
    assert answers(done) == {"c1": "charge 900 done", "c2": "said yes"}
    # The asking tool begins again from its first line, as every interrupt() in LangGraph does.
    assert sorted(oracle.lines) == ["charge:900", "confirm:ship", "confirm:ship", "confirmed:yes"]


async def test_control_the_bare_tool_node_repeats_the_finished_call(driver, oracle):
    app = bare_app("node", ScriptedChat(TURN), tools_of(oracle), driver.saver)

    await driver.invoke(app, GO)
    await driver.invoke(app, Command(resume="yes"))

    assert oracle.lines.count("charge:900") == 2
