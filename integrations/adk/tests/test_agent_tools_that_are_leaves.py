"""An agent tool whose inside is not protected is asked about as a whole after a kill; it is never entered again unasked."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage, to_the_end
from google.adk.agents import BaseAgent, SequentialAgent
from google.adk.events.event import Event
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


class Custom(BaseAgent):
    """An agent of one's own, which calls functions as it likes."""

    work: object

    async def _run_async_impl(self, ctx):
        await self.work("a")
        content = types.Content(role="model", parts=[types.Part(text="custom is done")])
        yield Event(invocation_id=ctx.invocation_id, author=self.name, content=content)


def without_plugins(stage):
    helper = agent(ScriptedModel([ask("charge", "a")]), stage.tool("charge"), name="helper")
    return AgentTool(helper, include_plugins=False)


def custom(stage):
    return AgentTool(Custom(name="helper", work=stage.function("charge")))


def custom_below(stage):
    below = Custom(name="below", work=stage.function("charge"))
    return AgentTool(SequentialAgent(name="helper", sub_agents=[below]))


def root(stage, kind):
    return agent(ScriptedModel([ask("helper", request="help")]), globals()[kind](stage))


def worker(folder, kind):
    Stage(folder, "charge:a").perform(lambda stage: root(stage, kind))


@pytest.mark.parametrize("kind", ["without_plugins", "custom", "custom_below"])
async def test_it_is_in_doubt_as_a_whole(tmp_path, in_child, make_chat, oracle, kind):
    assert in_child(worker, tmp_path, kind) == -9
    chat = make_chat(root(Stage(tmp_path), kind))
    await chat.resume()
    (asked,) = await chat.pending()

    events = await chat.answer({"type": "respond", "message": "helped"})

    assert (asked.tool, asked.arguments, asked.cause) == ("helper", {"request": "help"}, "died")
    assert oracle.lines == ["charge:a"]
    assert responses(events) == {"helper": {"result": "helped"}}


@pytest.mark.parametrize("kind", ["without_plugins", "custom", "custom_below"])
async def test_its_result_is_replayed_once_it_has_ended(
    tmp_path, in_child, make_chat, oracle, kind
):
    assert in_child(finisher, tmp_path, kind) == -9
    chat = make_chat(root(Stage(tmp_path), kind))
    assert await to_the_end(chat, oracle) == []
    assert oracle.lines == ["charge:a"]


def finisher(folder, kind):
    Stage(folder, "answer of helper").perform(lambda stage: root(stage, kind))
