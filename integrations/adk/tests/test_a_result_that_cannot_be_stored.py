"""A result that cannot be stored: the run goes on with it; met again after a stop, the call is asked about and not repeated."""

from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stopping, stop
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.tool_context import ToolContext


class Handle:
    """Nothing that a record can hold."""


class AsText(BasePlugin):
    """What another plugin makes of it for the model."""

    def __init__(self):
        super().__init__(name="as_text")

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        return {"text": "a handle"} if isinstance(result, Handle) else None


def root(oracle):
    return agent(ScriptedModel([ask("open", "a")]), oracle.tool("open", lambda _: Handle()))


async def test_the_run_goes_on_with_it(oracle, make_chat):
    events = await make_chat(root(oracle), plugins=(AsText(),)).say()
    assert responses(events) == {"open": {"text": "a handle"}}


async def test_met_again_it_is_asked_about(oracle, make_chat, make_durable):
    await stop(make_chat(root(oracle), plugins=(Stopping(), AsText())))
    chat = make_chat(root(oracle), with_=make_durable(), plugins=(AsText(),))
    await chat.resume()
    (asked,) = await chat.pending()

    events = await chat.answer({"type": "respond", "message": {"text": "it is open"}})

    assert (asked.tool, asked.cause) == ("open", "unrecordable")
    assert "Handle" in asked.payload["detail"]
    assert oracle.lines == ["open:a"]
    assert responses(events) == {"open": {"text": "it is open"}}


async def test_state_that_cannot_be_stored_is_the_same(oracle, make_chat, make_durable):
    def made():
        async def keep(x: str, tool_context: ToolContext) -> dict[str, str]:
            """keep"""
            oracle.write(f"keep:{x}")
            tool_context.state["handle"] = Handle()
            return {"kept": x}

        return agent(ScriptedModel([ask("keep", "a")]), keep)

    await stop(make_chat(made(), plugins=(Stopping(),)))
    chat = make_chat(made(), with_=make_durable())
    await chat.resume()

    (asked,) = await chat.pending()
    assert (asked.tool, asked.cause) == ("keep", "unrecordable")
    assert "$.state['handle']" in asked.payload["detail"]
    assert oracle.lines == ["keep:a"]
