"""A call of a tool that is not there runs nothing, and the model is told; its siblings run, and nothing waits for anybody."""

import pytest
from langgraph.types import Command
from lg_scripted import GO, ScriptedChat, answers, ask, durable_app, interrupts

TURN = ask(("chagre", "5", "c1"), ("mail", "Ada", "c2"))


@pytest.fixture(params=["node", "agent"])
def way(request):
    return request.param


async def test_the_model_is_told_and_the_sibling_runs_once(way, driver, durable, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), [oracle.tool("mail")], driver.saver)

    done = await driver.invoke(app, GO)

    told = answers(done)
    assert told.keys() == {"c1", "c2"}
    assert "chagre is not a valid tool" in told["c1"]
    assert told["c2"] == "mail Ada done"
    assert interrupts(done) == []
    assert oracle.lines == ["mail:Ada"]


async def test_it_was_never_begun_so_its_tool_may_come_later(way, driver, make_durable, oracle):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    tools = [oracle.tool("mail", fails)]
    app = durable_app(way, make_durable(), ScriptedChat(TURN), tools, driver.saver)
    with pytest.raises(TimeoutError):
        await driver.invoke(app, GO)
    (question,) = interrupts(await driver.invoke(app, None))

    done = await driver.invoke(app, Command(resume={question.id: {"type": "reject"}}))

    assert question.value["action_requests"][0]["name"] == "mail"
    assert "chagre is not a valid tool" in answers(done)["c1"]
    assert oracle.lines == ["mail:Ada"]
