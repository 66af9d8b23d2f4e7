"""Tools that are nodes of a graph and a kill: found again by the node's path, and asked about by the graph."""

import pytest
from adk_stage import Stage, to_the_end
from google.adk.workflow import Workflow

POINTS = [("pay:b", ["pay:b"]), ("charge:a", ["charge:a"])]


async def give_a():
    return "a"


async def give_b():
    return "b"


async def finish():
    return "finished"


def root(stage):
    first, second = stage.tool("charge"), stage.tool("pay")
    return Workflow(name="root", edges=[("START", give_a, first, give_b, second, finish)])


def worker(folder, at):
    Stage(folder, at).perform(root)


def outputs(session):
    """By node; ADK stores the output of a node that it skips once more."""
    found = {}
    for event in session.events:
        if event.output is not None and found.setdefault(event.node_info.name, event.output):
            assert found[event.node_info.name] == event.output
    return found


@pytest.mark.parametrize(("at", "asked"), POINTS)
async def test_every_node_has_one_effect(*, tmp_path, in_child, make_chat, oracle, at, asked):
    assert in_child(worker, tmp_path, at) == -9
    chat = make_chat(root(Stage(tmp_path)))

    assert await to_the_end(chat, oracle) == asked

    assert oracle.lines == ["charge:a", "pay:b"]
    assert outputs(await chat.session()) == {
        "give_a": "a",
        "charge": {"did": "charge a"},
        "give_b": "b",
        "pay": {"did": "pay b"},
        "finish": "finished",
    }


async def test_the_question_names_the_tool_and_a_refusal_is_the_nodes_result(
    tmp_path, in_child, make_chat, oracle
):
    in_child(worker, tmp_path, "pay:b")
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    (asked,) = await chat.pending()

    await chat.answer({"type": "reject", "message": "no"})

    assert (asked.tool, asked.arguments, asked.cause) == ("pay", {"x": "b"}, "died")
    assert oracle.lines == ["charge:a", "pay:b"]
    found = outputs(await chat.session())
    assert (found["pay"], found["finish"]) == ({"error": "no"}, "finished")
