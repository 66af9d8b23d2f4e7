"""Siblings that write one list: a replay leaves the state as the order in which they had ended, whatever is replayed first."""

from adk_kit import ScriptedModel, agent, ask
from adk_stage import Ended, Stage, Stopping, stop
from google.adk.tools.tool_context import ToolContext

FIRST = {"b": "add:c", "a": "add:b"}


def root(oracle, before, after=None):
    """Three calls that write in the order c, b, a."""

    async def add(x: str, tool_context: ToolContext) -> dict[str, str]:
        """add"""
        await before(x)
        oracle.write(f"add:{x}")
        tool_context.state["list"] = [*tool_context.state.get("list", []), x]
        tool_context.state["last"] = x
        if after:
            await after(f"add:{x}")
        return {"added": x}

    return agent(ScriptedModel([ask("add", x, call_id=x) for x in "abc"]), add)


def in_turn(ended):
    async def before(x):
        if x in FIRST:
            await ended.wait(FIRST[x])

    return before


async def never(_):
    raise AssertionError("a finished call runs again")


async def test_all_replayed(oracle, make_chat, make_durable):
    ended = Ended()
    unharmed = make_chat(root(oracle, in_turn(ended)), plugins=(ended,), session="unharmed")
    await unharmed.say()
    ended = Ended()
    await stop(
        make_chat(root(oracle, in_turn(ended)), plugins=(ended, Stopping("add:a", ended, "add:b")))
    )
    chat = make_chat(root(oracle, never), with_=make_durable())

    await chat.resume()

    assert oracle.lines == ["add:c", "add:b", "add:a"] * 2
    assert (await chat.session()).state == (await unharmed.session()).state
    assert (await chat.session()).state["list"] == ["c", "b", "a"]


def staged(stage):
    return root(stage.oracle, in_turn(stage.ended), stage.point)


def worker(folder):
    Stage(folder, "add:a", after=("add:b", "add:c")).perform(staged)


async def test_a_call_that_runs_again_adds_to_what_the_others_wrote(
    tmp_path, in_child, oracle, make_chat
):
    assert in_child(worker, tmp_path) == -9

    async def only_a(x):
        assert x == "a"

    chat = make_chat(root(oracle, only_a))
    await chat.resume()
    await chat.answer("approve")

    assert oracle.lines == ["add:c", "add:b", "add:a", "add:a"]
    assert (await chat.session()).state == {"list": ["c", "b", "a"], "last": "a"}
