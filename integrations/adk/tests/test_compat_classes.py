"""Classes and tools that the bridge knows by name, because ADK keeps them to itself or they are slow to import."""

import importlib
from pathlib import Path

import google.adk
import pytest
from adk_kit import ScriptedModel, agent, ask
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, BaseNode, Workflow, node

from agent_adapter_adk import _compat  # the file of these very names

# Some of them can be imported with an extra only.
HOMES = {
    "McpTool": "tools/mcp_tool/mcp_tool.py",
    "RemoteA2aAgent": "a2a/agent/_remote_a2a_agent.py",
    "AnthropicLlm": "models/anthropic_llm.py",
    "LiteLlm": "models/lite_llm.py",
    "OpenAIResponsesLlm": "integrations/openai/_openai_responses_llm.py",
    "NodeInterruptedError": "workflow/_errors.py",
}


@pytest.mark.parametrize("name", HOMES)
def test_the_class_still_has_its_name(name):
    source = (Path(google.adk.__file__).parent / HOMES[name]).read_text()
    assert f"\nclass {name}(" in source


@pytest.mark.parametrize("name", sorted(_compat.FRAMEWORK_TOOLS))
def test_the_framework_tool_still_exists(name):
    homes = {
        "transfer_to_agent": ("tools.transfer_to_agent_tool", "transfer_to_agent"),
        "exit_loop": ("tools.exit_loop_tool", "exit_loop"),
        "finish_task": ("agents.llm.task._finish_task_tool", "FinishTaskTool"),
        "set_model_response": ("tools.set_model_response_tool", "SetModelResponseTool"),
        "adk_request_input": ("tools._request_input_tool", "request_input"),
        "load_memory": ("tools.load_memory_tool", "load_memory_tool"),
        "preload_memory": ("tools.preload_memory_tool", "preload_memory_tool"),
        "load_artifacts": ("tools.load_artifacts_tool", "load_artifacts_tool"),
    }
    module, attribute = homes[name]
    assert hasattr(importlib.import_module(f"google.adk.{module}"), attribute)


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
