"""Whether everything inside a tool is protected call by call, so that the tool itself may always be entered again."""

from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import BaseNode, FunctionNode

from agent_adapter_adk._compat import is_remote, node_of, nodes_below, shares_session


class DurableNode(FunctionNode):
    """A node whose calls are recorded; made by `DurableTools.node`, with the options of a `FunctionNode`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)


def orchestrates(tool: BaseTool) -> bool:
    """Whether the tool is an agent or a graph whose calls all pass the plugin.

    Anything else is a leaf: when it was begun and has no result, it is in doubt like any tool.
    """
    if isinstance(tool, AgentTool):
        reached = shares_session(tool) or tool.include_plugins
        return reached and all(_is_protected(node) for node in nodes_below(tool.agent))
    node = node_of(tool)
    return node is not None and all(_is_protected(each) for each in nodes_below(node))


def _is_protected(node: BaseNode) -> bool:
    if isinstance(node, FunctionNode):
        return isinstance(node, DurableNode)
    if isinstance(node, LlmAgent):
        # An agent of one's own may do anything in there.
        return type(node)._run_async_impl is LlmAgent._run_async_impl  # noqa: SLF001 - ADK's documented way to write one
    ours = type(node).__module__.startswith("google.adk.")
    return ours and not (isinstance(node, LlmAgent) or is_remote(node))
