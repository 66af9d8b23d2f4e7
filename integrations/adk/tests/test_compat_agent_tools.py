"""How ADK makes tools of agents and graphs, and what they say when they give up waiting."""

from adk_kit import ScriptedModel, agent, ask
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, BaseNode, Workflow, node

from agent_adapter_adk import _compat  # the file of these very names


async def seen_by_the_model(root, make_chat):
    """The tools of the root's first request, by name."""
    seen = {}

    def look(callback_context, llm_request):
        seen.update(llm_request.tools_dict)

    root.before_model_callback = look
    await make_chat(root, with_=None).say()
    return seen


async def test_single_turn_agents_share_the_session_by_the_name_of_their_tool(make_chat):
    inside = agent(ScriptedModel("done"), name="inside", mode="single_turn")

    tools = await seen_by_the_model(agent(ScriptedModel("hi"), sub_agents=[inside]), make_chat)

    assert _compat.shares_session(tools["inside"])
    assert not _compat.shares_session(AgentTool(agent(ScriptedModel(), name="sub")))


async def test_task_agents_are_tools_with_that_mode(make_chat):
    inside = agent(ScriptedModel("done"), name="inside", mode="task")

    tools = await seen_by_the_model(agent(ScriptedModel("hi"), sub_agents=[inside]), make_chat)

    assert _compat.is_framework_tool(tools["inside"])


async def test_a_graph_that_is_a_tool_names_its_node(make_chat):
    inside = agent(ScriptedModel("done"), name="inside")
    flow = Workflow(name="flow", description="flow", edges=[(START, inside)])

    tools = await seen_by_the_model(agent(ScriptedModel("hi"), flow), make_chat)

    assert isinstance(_compat.node_of(tools["flow"]), BaseNode)
    assert inside.name in {node.name for node in _compat.nodes_below(flow)}


def test_workers_side_by_side_name_the_node_that_they_run():
    @node(parallel_worker=True)
    async def work(node_input: str) -> str:
        """Work."""
        return node_input

    flow = Workflow(name="flow", edges=[(START, work)])

    assert "FunctionNode" in {type(each).__name__ for each in _compat.nodes_below(flow)}


async def test_an_agent_that_stopped_waiting_says_so(make_chat, oracle):
    charge = oracle.tool("charge", require_confirmation=True)
    used = AgentTool(agent(ScriptedModel([ask("charge", "a")]), charge, name="sub"))
    root = agent(ScriptedModel([ask("sub", request="go")]), used)

    events = await make_chat(root, with_=None).say()

    (answer,) = [each for event in events for each in event.get_function_responses()]
    assert _compat.gave_up_waiting(used, answer.response["result"])
