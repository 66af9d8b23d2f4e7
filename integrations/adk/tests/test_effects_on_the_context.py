"""What a call did to its context is done again when it is replayed: state of every scope, artifacts, and every other action."""

from adk_kit import ScriptedModel, agent, ask, words
from adk_stage import Stopping, stop
from google.adk.events.ui_widget import UiWidget
from google.adk.tools.tool_context import ToolContext
from google.genai import types

STATE = {"k": {"a": [1]}, "app:k": "app", "user:k": "user"}


def state_root(oracle):
    async def note(tool_context: ToolContext) -> dict[str, str]:
        """note"""
        oracle.write("note")
        for key, value in {**STATE, "temp:k": "temp"}.items():
            tool_context.state[key] = value
        part = types.Part(text="text")
        await tool_context.save_artifact("file.txt", part)
        return {"ok": "ok"}

    async def look(tool_context: ToolContext) -> dict[str, object]:
        """look"""
        return {"temp": tool_context.state.get("temp:k")}

    return agent(ScriptedModel([ask("note")], [ask("look")]), note, look)


async def test_state_and_artifacts_are_written_again(oracle, make_chat, make_durable):
    await stop(make_chat(state_root(oracle), plugins=(Stopping(),)))
    chat = make_chat(state_root(oracle), with_=make_durable())

    events = await chat.resume()

    assert oracle.lines == ["note"]
    assert (await chat.session()).state == STATE
    noted, looked = [event for event in events if event.get_function_responses()]
    assert noted.actions.artifact_delta == {"file.txt": 0}
    assert {key: noted.actions.state_delta.get(key) for key in STATE} == STATE
    assert looked.get_function_responses()[0].response == {"temp": "temp"}


async def acting(oracle, make_chat, make_durable, act, *turns, desks=0):
    async def do(tool_context: ToolContext) -> dict[str, str]:
        """do"""
        oracle.write("do")
        act(tool_context.actions)
        return {"ok": "ok"}

    def root():
        below = [agent(ScriptedModel("desk is here"), name="desk") for _ in range(desks)]
        return agent(ScriptedModel([ask("do")], *turns), do, sub_agents=below)

    await stop(make_chat(root(), plugins=(Stopping(),)))
    events = await make_chat(root(), with_=make_durable()).resume()
    assert oracle.lines == ["do"]
    return events


async def test_a_transfer_is_made_again(oracle, make_chat, make_durable):
    def act(actions):
        actions.transfer_to_agent = "desk"

    events = await acting(oracle, make_chat, make_durable, act, desks=1)
    assert words(events) == ["desk is here"]


async def test_escalation_widgets_and_a_skipped_summary_are_there_again(
    oracle, make_chat, make_durable
):
    widget = UiWidget(id="w", provider="mcp", payload={"a": 1})

    def act(actions):
        actions.escalate = actions.skip_summarization = True
        actions.render_ui_widgets = [widget]

    events = await acting(oracle, make_chat, make_durable, act, "never said")

    (told,) = [event.actions for event in events if event.get_function_responses()]
    assert (told.escalate, told.skip_summarization) == (True, True)
    assert told.render_ui_widgets == [widget]
    assert words(events) == []


async def test_the_final_answer_is_set_again(oracle, make_chat, make_durable):
    def act(actions):
        actions.set_model_response = {"answer": 42}

    events = await acting(oracle, make_chat, make_durable, act, "never said")
    (told,) = [event.actions for event in events if event.get_function_responses()]
    assert told.set_model_response == {"answer": 42}
