"""A tool that is a node of a graph asks before it runs, and the graph goes on with the answer."""

import pytest
from google.adk.workflow import Workflow

from agent_adapter.policies import ToolPolicy


@pytest.fixture(params=["by ADK", "by policy"])
def make_graph(request, oracle, make_chat, make_durable):
    """Make a worker for a graph in which a gated tool stands between two functions, and a plain tool after them."""
    native = request.param == "by ADK"
    policies = {} if native else {"wipe": ToolPolicy(confirm=True)}

    async def give() -> str:
        return "a"

    async def then() -> str:
        return "b"

    def made():
        wipe = oracle.tool("wipe", lambda x: f"wiped {x}", require_confirmation=native)
        edges = [("START", give, wipe, then, oracle.tool("mail", lambda x: f"mailed {x}"))]
        root = Workflow(name="root", edges=edges)
        return make_chat(root, with_=make_durable(policies=policies))

    return made


async def test_a_tool_node_waits_for_its_approval_and_the_graph_goes_on(oracle, make_graph):
    await make_graph().say()
    later = make_graph()
    (asked,) = await later.pending()
    before = oracle.lines

    events = await later.answer("approve")

    assert (asked.tool, asked.arguments) == ("wipe", {"x": "a"})
    assert (before, oracle.lines) == ([], ["wipe:a", "mail:b"])
    outputs = [event.output for event in events if event.output is not None]
    # ADK tells of the finished node before it once more, as it does without the plugin.
    assert outputs == ["a", "wiped a", "b", "mailed b"]
    assert await later.pending() == []


async def test_a_refused_tool_node_does_not_run(oracle, make_graph):
    chat = make_graph()
    await chat.say()
    await chat.answer("reject")
    assert oracle.lines == ["mail:b"]


@pytest.mark.parametrize("response", [{}, {"confirmed": "yes"}, {"result": "yes"}], ids=str)
async def test_a_malformed_answer_to_a_tool_node_decides_nothing(oracle, make_graph, response):
    chat = make_graph()
    await chat.say()
    (asked,) = await chat.pending()
    before = (await chat.session()).events
    with pytest.raises(RuntimeError, match="nothing was decided"):
        await chat.post({asked.id: response})
    assert (await chat.session()).events == before
    assert oracle.lines == []
