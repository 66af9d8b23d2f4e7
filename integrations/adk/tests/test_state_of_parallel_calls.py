"""What parallel calls write to the session's state is all kept, also where they are answered from the record."""

import asyncio

from adk_kills import live
from adk_kit import Oracle, ScriptedModel, agent, ask
from google.adk.tools.tool_context import ToolContext


def root(oracle: Oracle):
    async def add(item: str, tool_context: ToolContext) -> dict[str, int]:
        """add"""
        oracle.write(item)
        tool_context.state["items"] = [*tool_context.state.get("items", []), item]
        tool_context.state[f"k_{item}"] = 1
        return {"ok": 1}

    return agent(ScriptedModel([ask("add", item=item) for item in "abc"]), add)


def killed_after_the_third_is_recorded(folder):
    live(folder, "record add done", 3, root, lambda chat: chat.say())


def kept(oracle):
    return {"items": oracle.lines, "k_a": 1, "k_b": 1, "k_c": 1}


async def test_parallel_calls_keep_each_others_state(oracle, make_chat):
    chat = make_chat(root(oracle))
    await chat.say()
    assert sorted(oracle.lines) == ["a", "b", "c"]
    assert (await chat.session()).state == kept(oracle)


async def test_a_replay_after_a_kill_writes_the_same_state_again(
    tmp_path, oracle, make_chat, in_child
):
    code = await asyncio.to_thread(in_child, killed_after_the_third_is_recorded, tmp_path)
    chat = make_chat(root(oracle))
    before = (await chat.session()).state

    await chat.resume()

    assert (code, before) == (-9, {})
    assert sorted(oracle.lines) == ["a", "b", "c"]
    assert (await chat.session()).state == kept(oracle)
