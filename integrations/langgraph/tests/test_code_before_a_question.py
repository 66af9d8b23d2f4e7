"""A tool that asks in its own body begins again from its first line; what it did through protected tools is not repeated."""

from langgraph.types import Command, interrupt
from lg_scripted import GO, ScriptedChat, answers, ask, bare_app, durable_app


async def test_protected_steps_inside_a_tool_are_not_repeated(way, driver, durable, oracle):
    (reserve,) = durable.wrap([oracle.tool("reserve")])

    def order(x: str) -> str:
        reserved = reserve.invoke({"x": x})
        said = interrupt("ship?")
        oracle.write(f"ship:{said}")
        return f"{reserved}, {said}"

    app = durable_app(
        way,
        durable,
        ScriptedChat(ask(("order", "sku", "c1"))),
        [oracle.tool("order", order)],
        driver.saver,
    )

    await driver.invoke(app, GO)
    done = await driver.invoke(app, Command(resume="yes"))

    assert answers(done) == {"c1": "reserve sku done, yes"}
    assert oracle.lines == ["order:sku", "reserve:sku", "order:sku", "ship:yes"]


async def test_control_an_unprotected_step_is_repeated(driver, oracle):
    reserve = oracle.tool("reserve")

    def order(x: str) -> str:
        reserve.invoke({"x": x})
        return str(interrupt("ship?"))

    app = bare_app(
        "agent",
        ScriptedChat(ask(("order", "sku", "c1"))),
        [oracle.tool("order", order)],
        driver.saver,
    )

    await driver.invoke(app, GO)
    await driver.invoke(app, Command(resume="yes"))

    assert oracle.lines.count("reserve:sku") == 2
