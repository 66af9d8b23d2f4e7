"""Running tool calls and agents: the Executor, the durable tool loop, agents as tools, and the process's defaults."""

from typing import TYPE_CHECKING

from agent_adapter._lazy import from_homes

if TYPE_CHECKING:
    from agent_adapter.errors import AgentDepthExceeded
    from agent_adapter.exec._agents import LoopAgent, agent_depth, agent_tool, handoff
    from agent_adapter.exec._backoff import Backoff
    from agent_adapter.exec._batch import OnError
    from agent_adapter.exec._defaults import (
        acall,
        call,
        configure,
        default_executor,
        default_registry,
        reset_default_executor,
        runner_for,
        set_default_executor,
    )
    from agent_adapter.exec._driving import ToolLoopResult
    from agent_adapter.exec._executor import Executor
    from agent_adapter.exec._handoff_model import HandoffModel
    from agent_adapter.exec._loop import run_tool_loop
    from agent_adapter.exec._questions import DidNotHappen, DoNotRun, Happened, Rerun, Unknown
    from agent_adapter.exec._recover import recover_tool_loop
    from agent_adapter.exec._step import Ref, Step
    from agent_adapter.exec._sync import SyncTwins
    from agent_adapter.exec.control import is_control_flow, register_control_flow
    from agent_adapter.limits import RunLimits

__all__ = [
    "AgentDepthExceeded",
    "Backoff",
    "DidNotHappen",
    "DoNotRun",
    "Executor",
    "HandoffModel",
    "Happened",
    "LoopAgent",
    "OnError",
    "Ref",
    "Rerun",
    "RunLimits",
    "Step",
    "SyncTwins",
    "ToolLoopResult",
    "Unknown",
    "acall",
    "agent_depth",
    "agent_tool",
    "call",
    "configure",
    "default_executor",
    "default_registry",
    "handoff",
    "is_control_flow",
    "recover_tool_loop",
    "register_control_flow",
    "reset_default_executor",
    "run_tool_loop",
    "runner_for",
    "set_default_executor",
]

__getattr__ = from_homes(
    __name__,
    {
        "agent_adapter.errors": "AgentDepthExceeded",
        "agent_adapter.exec._agents": "LoopAgent agent_depth agent_tool handoff",
        "agent_adapter.exec._backoff": "Backoff",
        "agent_adapter.exec._batch": "OnError",
        "agent_adapter.exec._defaults": (
            "acall call configure default_executor default_registry reset_default_executor "
            "runner_for set_default_executor"
        ),
        "agent_adapter.exec._driving": "ToolLoopResult",
        "agent_adapter.exec._executor": "Executor",
        "agent_adapter.exec._handoff_model": "HandoffModel",
        "agent_adapter.exec._loop": "run_tool_loop",
        "agent_adapter.exec._questions": "DidNotHappen DoNotRun Happened Rerun Unknown",
        "agent_adapter.exec._recover": "recover_tool_loop",
        "agent_adapter.exec._step": "Ref Step",
        "agent_adapter.exec._sync": "SyncTwins",
        "agent_adapter.exec.control": "is_control_flow register_control_flow",
        "agent_adapter.limits": "RunLimits",
    },
)


def __dir__() -> list[str]:
    return __all__
