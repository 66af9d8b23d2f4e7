"""A tool's exception is a recorded result: an error answer for the model, which a replay gives once more without the body."""

import pytest
from adk_kit import ScriptedModel, agent, ask, responses, shown
from adk_stage import Stopping, stop
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin


class OutOfMoney(Exception):
    pass


def broke(x):
    raise OutOfMoney(f"no money for {x}")


def root(oracle, **settings):
    model = ScriptedModel([ask("charge", "a"), ask("mail", "b")])
    return agent(model, oracle.tool("charge", broke), oracle.tool("mail"), **settings)


ANSWERS = {"charge": {"error": "OutOfMoney: no money for a"}, "mail": {"did": "mail b"}}


async def test_the_model_is_given_an_error_and_the_siblings_finish(oracle, make_chat):
    made = root(oracle)
    await make_chat(made).say()
    assert shown(made.model)["responses"] == ANSWERS
    assert sorted(oracle.lines) == ["charge:a", "mail:b"]


class Errors(BasePlugin):
    """The errors that plugins behind ours are told of."""

    def __init__(self):
        super().__init__(name="errors")
        self.seen = []

    async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
        self.seen.append(f"{type(error).__name__}: {error}")


async def test_a_replay_gives_the_same_error_to_everybody(oracle, make_chat, make_durable):
    await stop(make_chat(root(oracle), plugins=(Stopping("charge:a"),)))
    errors = Errors()

    events = await make_chat(root(oracle), with_=make_durable(), plugins=(errors,)).resume()

    assert responses(events)["charge"] == ANSWERS["charge"]
    assert errors.seen == ["OutOfMoney: no money for a"]
    assert oracle.lines.count("charge:a") == 1


async def test_a_plugin_behind_ours_answers_first(oracle, make_chat):
    events = await make_chat(root(oracle), plugins=(ReflectAndRetryToolPlugin(),)).say()
    told = responses(events)["charge"]
    assert (told["error_type"], told["error_details"]) == ("OutOfMoney", "no money for a")
    assert told["retry_count"] == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_agents_own_callback_answers_first(oracle, make_chat, kind):
    def answer(*, tool, args, tool_context, error):
        return {"handled": str(error)}

    async def answer_later(**given):
        return answer(**given)

    callback = answer if kind == "sync" else answer_later
    events = await make_chat(root(oracle, on_tool_error_callback=callback)).say()
    assert responses(events)["charge"] == {"handled": "no money for a"}
