"""Classes and tools that the bridge knows by name, because ADK keeps them to itself or they are slow to import."""

import importlib
from pathlib import Path

import google.adk
import pytest

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
