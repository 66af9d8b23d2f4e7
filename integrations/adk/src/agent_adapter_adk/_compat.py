"""The only file that names what Google ADK does not promise: names in stored events, and classes that it keeps to itself.

Behaviour that ADK does not document and that the bridge stands on is pinned by `tests/test_compat*.py`, one test each.
"""

from collections.abc import Iterator
from typing import Any

from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import BaseNode

# Calls by which ADK asks: about a call of an agent, and from a node of a graph.
CONFIRMATION = "adk_request_confirmation"
INPUT = "adk_request_input"
NODE_CONFIRMATION = "wf_tool_confirmation:"
# The error code of answers that ADK makes up when a client goes away.
ABORTED = "INVOCATION_ABORTED"
# Ids that ADK made; the model never sees them.
MADE_ID = "adk-"
# Agents that start each agent below them once.
PASSED_ONCE = ("SequentialAgent", "ParallelAgent")
# The author of the event with which a plugin ends a run before it began.
EARLY_EXIT = "model"

FRAMEWORK_TOOLS = frozenset(
    {
        "transfer_to_agent",
        "exit_loop",
        "finish_task",
        "set_model_response",
        "adk_request_input",
        "load_memory",
        "preload_memory",
        "load_artifacts",
    }
)


def is_framework_tool(tool: BaseTool) -> bool:
    """Whether this is one of ADK's own means of control, which ADK itself takes up again."""
    home = getattr(tool, "func", None) or type(tool)
    delegates = isinstance(tool, AgentTool) and getattr(tool.agent, "mode", None) == "task"
    return delegates or (
        tool.name in FRAMEWORK_TOOLS and str(home.__module__).startswith("google.adk.")
    )


def is_mcp_tool(tool: BaseTool) -> bool:
    """Whether the tool runs in an MCP server; its module is not imported for the question."""
    return any(kind.__name__ == "McpTool" for kind in type(tool).__mro__)


def mcp_hints(tool: BaseTool) -> dict[str, Any]:
    """What an MCP server says about its tool; empty for any other tool."""
    annotations = getattr(getattr(tool, "raw_mcp_tool", None), "annotations", None)
    if annotations is None:
        return {}
    # The library names the hints in two ways, by version.
    known = {
        "readOnlyHint": "read_only_hint",
        "idempotentHint": "idempotent_hint",
        "destructiveHint": "destructive_hint",
    }
    return {
        name: getattr(annotations, name, getattr(annotations, other, None))
        for name, other in known.items()
    }


def is_pause(error: BaseException) -> bool:
    """Whether a node inside the call has paused; ADK enters the call again once that node is answered."""
    return type(error).__name__ == "NodeInterruptedError"


def runs_generator(tool: BaseTool) -> bool:
    """Whether ADK runs the function as a node of its own, which may pause."""
    import inspect

    func = getattr(tool, "func", None)
    return isinstance(tool, FunctionTool) and (
        inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func)
    )


def node_of(tool: BaseTool) -> BaseNode | None:
    """The node that the tool runs, None for a tool of another kind."""
    node = getattr(tool, "node", None)
    return node if isinstance(node, BaseNode) else None


def shares_session(tool: AgentTool) -> bool:
    """Whether the agent works in its caller's session, or in a throw-away one of its own."""
    return type(tool).__name__ == "_SingleTurnAgentTool"


def is_remote(agent: BaseNode) -> bool:
    """Whether the agent runs somewhere else, where no plugin of ours is."""
    return any(kind.__name__ == "RemoteA2aAgent" for kind in type(agent).__mro__)


def nodes_below(node: BaseNode) -> Iterator[BaseNode]:
    """The node and every node of the graphs below it."""
    seen: list[BaseNode] = []
    found = [node]
    while found:
        each = found.pop()
        if any(each is other for other in seen):
            continue
        seen.append(each)
        yield each
        graph = getattr(each, "graph", None)
        found += getattr(graph, "nodes", None) or []
        found += getattr(each, "sub_agents", None) or []
        # A node whose workers run side by side holds the node that they run.
        inner = getattr(each, "_node", None)
        found += [inner] if isinstance(inner, BaseNode) else []


def gave_up_waiting(tool: BaseTool, result: Any) -> bool:
    """Whether the result of an agent says that it paused inside, or that it could not be run: it is no result to keep."""
    if not isinstance(tool, AgentTool):
        return False
    if shares_session(tool):
        return result is None or (
            isinstance(result, str) and result.startswith("Error running sub-agent: ")
        )
    return (
        isinstance(result, str)
        and result.startswith("Error: agent ")
        and "unresolved long-running tool call" in result
    )


def starts_once(ctx: Any) -> bool:
    """Whether nothing starts the agent a second time in one invocation: it is the root, or one of a sequence."""
    agent = ctx.get_invocation_context().agent
    while type(getattr(agent, "parent_agent", None)).__name__ in PASSED_ONCE:
        agent = agent.parent_agent
    return (
        agent is not None
        and getattr(agent, "parent_agent", None) is None
        and ("/" not in ctx.node_path)
    )


def is_called(ctx: Any) -> bool:
    """Whether a call has started the agent: the last part of its branch then names it and the call."""
    return str(ctx.branch or "").rpartition(".")[2].startswith(f"{ctx.agent_name}@")


def pairs_by_id(ctx: Any) -> bool:
    """Whether the agent's model pairs calls with their answers by id, so that ids that ADK made are sent to it."""
    model = getattr(ctx.get_invocation_context().agent, "canonical_model", None)
    names = {kind.__name__ for kind in type(model).__mro__}
    return bool(names & {"AnthropicLlm", "LiteLlm", "OpenAIResponsesLlm"}) or bool(
        getattr(model, "use_interactions_api", False)
    )
