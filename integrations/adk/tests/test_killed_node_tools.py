"""A graph that is used as a tool and a kill inside: entered again if everything inside is protected, asked about otherwise."""

from typing import Any

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stage, to_the_end
from google.adk.workflow import Workflow, node
from pydantic import BaseModel


def protected(stage):
    turns = [ask("charge", "a"), ask("pay", "b")], [ask("charge", "c")], "all done"
    tools = stage.tool("charge"), stage.tool("pay")
    clerk = agent(ScriptedModel(*turns), *tools, name="clerk")
    return using(Workflow(name="flow", description="flow", edges=[("START", clerk)]))


def unprotected(stage):
    charge = stage.function("charge")

    async def work(node_input: str) -> str:
        """A function that nothing records."""
        await charge(node_input)
        return "all done"

    return using(Workflow(name="flow", description="flow", edges=[("START", work)]))


class Request(BaseModel):
    """What the graph is asked for."""

    request: str


def unprotected_workers(stage):
    charge = stage.function("charge")

    @node(parallel_worker=True)
    async def work(node_input: Any) -> str:
        """A function that nothing records, once for each item."""
        await charge("a")
        return "all done"

    edges = [("START", work)]
    return using(Workflow(name="flow", description="flow", input_schema=Request, edges=edges))


def using(flow):
    return agent(ScriptedModel([ask("flow", request="a")]), flow)


def worker(folder, kind, at):
    Stage(folder, at, after=("charge:a",) if at == "pay:b" else ()).perform(globals()[kind])


async def test_a_protected_graph_goes_on_where_it_was(tmp_path, in_child, make_chat, oracle):
    assert in_child(worker, tmp_path, "protected", "pay:b") == -9
    chat = make_chat(protected(Stage(tmp_path)))

    assert await to_the_end(chat, oracle) == ["pay:b"]

    assert sorted(oracle.lines) == ["charge:a", "charge:c", "pay:b"]
    assert responses((await chat.session()).events)["flow"] == {"result": "all done"}


@pytest.mark.parametrize("kind", ["unprotected", "unprotected_workers"])
async def test_a_graph_with_functions_is_in_doubt_as_a_whole(
    *, kind, tmp_path, in_child, make_chat, oracle
):
    assert in_child(worker, tmp_path, kind, "charge:a") == -9
    chat = make_chat(globals()[kind](Stage(tmp_path)))
    await chat.resume()
    (asked,) = await chat.pending()

    events = await chat.answer({"type": "respond", "message": "all done"})

    assert (asked.tool, asked.cause) == ("flow", "died")
    assert oracle.lines == ["charge:a"]
    assert responses(events) == {"flow": {"result": "all done"}}
