"""Tools that are generators: in doubt after a kill like any tool, and entered again when they had paused for a person."""

from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage, to_the_end
from google.adk.events.request_input import RequestInput
from google.adk.tools.tool_context import ToolContext


def killed_root(stage):
    async def charge(x: str):
        """charge"""
        stage.oracle.write(f"charge:{x}")
        await stage.point(f"charge:{x}")
        yield {"did": f"charge {x}"}

    return agent(ScriptedModel([ask("charge", "a")]), charge)


def worker(folder, at):
    Stage(folder, at).perform(killed_root)


async def test_a_killed_generator_is_asked_about(tmp_path, in_child, make_chat, oracle):
    assert in_child(worker, tmp_path, "charge:a") == -9
    chat = make_chat(killed_root(Stage(tmp_path)))

    assert await to_the_end(chat, oracle) == ["charge:a"]

    assert oracle.lines == ["charge:a"]
    assert responses((await chat.session()).events) == {"charge": {"did": "charge a"}}


async def test_a_finished_generator_is_replayed(tmp_path, in_child, make_chat, oracle):
    assert in_child(worker, tmp_path, "answers") == -9
    chat = make_chat(killed_root(Stage(tmp_path)))

    assert await to_the_end(chat, oracle) == []

    assert oracle.lines == ["charge:a"]
    assert responses((await chat.session()).events) == {"charge": {"did": "charge a"}}


async def test_a_generator_that_asks_is_entered_again_with_the_answer(
    oracle, make_chat, make_durable
):
    def root():
        async def charge(x: str, tool_context: ToolContext):
            """charge"""
            said = tool_context.resume_inputs.get("sure")
            if said is None:
                yield RequestInput(interrupt_id="sure", message="sure?")
            else:
                oracle.write(f"charge:{x}")
                yield {"said": said}

        return agent(ScriptedModel([ask("charge", "a")]), charge, oracle.tool("mail"))

    await make_chat(root()).say()
    later = make_chat(root(), with_=make_durable())

    events = await later.post({"sure": {"result": "yes"}})

    assert oracle.lines == ["charge:a"]
    assert responses(events) == {"charge": {"said": "yes"}}
