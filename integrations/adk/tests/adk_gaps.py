"""What happens to an app where ADK has a gap; each ends when nothing more would happen by itself."""

import pytest
from adk_kit import ListedModel, ScriptedModel, agent, ask
from adk_stage import Stopping, stop
from google.adk.agents import SequentialAgent
from google.adk.agents.run_config import RunConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow

NAMED = RunConfig(custom_metadata={"agent_adapter_run": "order-42"})
YES = {"confirmed": True}


class Breaks(BasePlugin):
    """Fails after the first call; not the tool."""

    async def after_tool_callback(self, **_):
        raise ValueError("broken plugin")


async def answer_one_by_one(chat):
    for question in await chat.pending():
        await chat.post({question.id: YES})


def gated(oracle):
    return oracle.tool("wipe", require_confirmation=True)


async def answers_one_by_one(oracle, make):
    """Two questions of one turn are answered in two messages."""
    chat = make(agent(ScriptedModel([ask("wipe", "a"), ask("wipe", "b")]), gated(oracle)))
    await chat.say()
    await answer_one_by_one(chat)


async def answers_in_a_sequence(oracle, make):
    """Two questions of the first agent of a sequence are answered one by one."""
    first = agent(ScriptedModel([ask("wipe", "a"), ask("wipe", "b")]), gated(oracle), name="first")
    second = agent(ScriptedModel([ask("mail", "c")]), oracle.tool("mail"), name="second")
    chat = make(SequentialAgent(name="root", sub_agents=[first, second]))
    await chat.say()
    await answer_one_by_one(chat)


async def an_error_after_a_call(oracle, make):
    """Something else in the app fails after a call, and the invocation is resumed."""
    made = agent(ScriptedModel([ask("charge", "a")], [ask("mail", "b")]), *tools(oracle))
    with pytest.raises(RuntimeError):
        await make(made, plugins=(Breaks(name="breaks"),)).say()
    await make(made).resume()


async def beside_a_long_running_call(oracle, make):
    """A run ends after a long-running call and before its sibling began; it is resumed."""
    turn = [ask("render", "a"), ask("mail", "b")]
    render = LongRunningFunctionTool(oracle.function("render", lambda _: None))
    made = agent(ScriptedModel(turn), render, oracle.tool("mail"))
    chat = make(made)
    await chat.say(until=lambda event: bool(event.get_function_calls()))
    await make(made).resume()


async def an_ended_invocation(oracle, make):
    """An invocation that is over is run again by its id."""
    turn = [ask("charge", "a")]
    chat = make(agent(ListedModel(turn, "done", turn), oracle.tool("charge")))
    events = await chat.say()
    await chat.run(invocation_id=events[0].invocation_id)


def tools(oracle):
    return oracle.tool("charge"), oracle.tool("mail")


async def an_agent_that_starts_again(oracle, make):
    """An agent in a graph stops at its second call, and is resumed."""
    made = agent(ScriptedModel([ask("charge", "a")], [ask("mail", "b")]), *tools(oracle), name="a")
    await stop(make(Workflow(name="root", edges=[(START, made)]), plugins=(Stopping("mail:b"),)))
    again = made.model_copy(update={"parent_agent": None})
    await make(Workflow(name="root", edges=[(START, again)])).resume()


async def a_named_request(oracle, make):
    """Two questions of a named request are answered one by one in an app that is not resumable."""
    root = agent(ScriptedModel([ask("wipe", "a"), ask("wipe", "b")]), gated(oracle))
    chat = make(root, resumable=False)
    await chat.say(run_config=NAMED)
    await answer_one_by_one(chat)


async def a_question_in_a_graph(oracle, make):
    """An agent in a graph asks at its second turn, is answered, and is stopped once more."""
    made = agent(
        ScriptedModel([ask("charge", "a")], [ask("wipe", "b")]),
        oracle.tool("charge"),
        gated(oracle),
        name="a",
    )
    chat = make(Workflow(name="root", edges=[(START, made)]))
    await chat.say()
    await answer_one_by_one(chat)


async def a_question_beside_a_transfer(oracle, make):
    """A turn hands over to another agent, and one of its calls is asked about."""
    desk = agent(ScriptedModel([ask("mail", "b")]), oracle.tool("mail"), name="desk")
    turn = [ask("transfer_to_agent", agent_name="desk"), ask("wipe", "a")]
    chat = make(agent(ScriptedModel(turn), gated(oracle), sub_agents=[desk]))
    await chat.say()
    await answer_one_by_one(chat)
